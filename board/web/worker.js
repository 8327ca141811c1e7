// Shows the alerts of a box.
//
// A message is declarative Web Push: {"web_push": 8030, "notification": {"title": …, "navigate": …}}. Safari shows such a
// message without this script.
'use strict';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

// A push that shows nothing can cost the subscription, so that anything is shown.
function read(data) {
  try {
    const { notification } = data.json();
    if (typeof notification.title === 'string') return notification;
  } catch {
    // The message is no such object.
  }
  return { title: 'Alert', body: data ? data.text() : '' };
}

async function show(data) {
  const message = read(data);
  const { title, body, tag, lang, navigate } = message;
  const options = {
    ...message,
    silent: message.silent === true,
    icon: message.icon || 'icon.png',
    renotify: false,
    data: { navigate },
  };
  if (tag) {
    // A newer alert with the same tag is heard, and the same one again is not.
    const present = await self.registration.getNotifications({ tag });
    const isRepeat = present.some((shown) => shown.title === title && shown.body === (body || ''));
    options.renotify = !isRepeat && !options.silent;
  }
  try {
    await self.registration.showNotification(title, options);
  } catch {
    // The box may send members that this browser does not take.
    await self.registration.showNotification(title, { body, tag, lang, icon: 'icon.png', data: { navigate } });
  }
  if (message.app_badge === undefined || !self.navigator.setAppBadge) return;
  try {
    const count = Number(message.app_badge);
    await (count > 0 ? self.navigator.setAppBadge(count) : self.navigator.clearAppBadge());
  } catch {
    // This system shows no numbers.
  }
}

async function open(navigate) {
  const home = self.registration.scope;
  let address = home;
  try {
    const url = new URL(navigate || home, home);
    if (url.protocol === 'https:' || url.protocol === 'http:') address = url.href;
  } catch {
    // The page opens instead.
  }
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const same = windows.find(({ url }) => url.split('#')[0] === address.split('#')[0]);
  return same ? same.focus() : self.clients.openWindow(address);
}

// The box can learn the new subscription only by a new invitation.
async function renew(event) {
  const key = event.oldSubscription && event.oldSubscription.options.applicationServerKey;
  try {
    if (!event.newSubscription && key) {
      await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    }
  } catch {
    // The page subscribes when it is opened.
  }
  await self.registration.showNotification('Alerts have stopped', {
    body: 'The browser has changed its address for alerts. Ask for a new invitation.',
    tag: 'tinypush-renew',
    icon: 'icon.png',
  });
}

self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { navigate } = event.notification.data || {};
  event.waitUntil(open(navigate));
});
self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renew(event)));
