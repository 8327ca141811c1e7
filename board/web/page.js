// Registers this browser for the alerts of a box.
//
// The address of the page has the invitation: #k=PUBLIC KEY&n=NAME&c=CODE. The code works once, at the box that serves the
// page. A page elsewhere shows the subscription as text.
'use strict';

const element = (id) => document.getElementById(id);
const sections = Array.from(document.querySelectorAll('section'));
const isApple = /iPhone|iPad|iPod/.test(navigator.userAgent)
  || (/Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
const isOnHomeScreen = navigator.standalone === true || matchMedia('(display-mode: standalone)').matches;

let invitation;
let worker;

function show(...ids) {
  for (const section of sections) section.hidden = !ids.includes(section.id);
}

// Reads the part of an address behind the #; null: it has no invitation.
function read(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const key = values.get('k') || '';
  if (!/^[\w-]{87}$/.test(key)) return null;
  return { key, name: values.get('n') || '', code: values.get('c') || '' };
}

// The browser may keep nothing for the page, as in a private window.
function stored() {
  try {
    return JSON.parse(localStorage.getItem('registration')) || {};
  } catch {
    return {};
  }
}

function store(endpoint) {
  try {
    localStorage.setItem('registration', JSON.stringify({ ...invitation, endpoint }));
  } catch {
    // Then the page asks again the next time.
  }
}

function isOf(subscription, key) {
  const bytes = new Uint8Array(subscription.options.applicationServerKey || []);
  const text = btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  return text === key;
}

function setInvitation(found) {
  invitation = found;
  element('for').hidden = !found.name;
  element('name').textContent = found.name;
  element('list').textContent = found.name || 'NAME';
}

async function start() {
  const known = stored();
  const found = read(location.hash) || (known.key ? { key: known.key, name: known.name, code: '' } : null);
  if (found) setInvitation(found);
  for (const paragraph of document.querySelectorAll('.apple')) paragraph.hidden = !isApple;
  for (const paragraph of document.querySelectorAll('.other')) paragraph.hidden = isApple;
  if (!window.isSecureContext) return show('insecure');
  if (isApple && !isOnHomeScreen) return show('homescreen');
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) {
    return show(isApple ? 'old' : 'unsupported');
  }
  if (!invitation) return show('invitation');
  if (Notification.permission === 'denied') return show('blocked');
  try {
    await navigator.serviceWorker.register('worker.js');
    worker = await navigator.serviceWorker.ready;
    const subscription = await worker.pushManager.getSubscription();
    // A new code brings back a recipient that was removed at the box.
    const isRegistered = subscription && known.endpoint === subscription.endpoint && known.key === invitation.key
      && known.name === invitation.name && (!invitation.code || known.code === invitation.code);
    show(isRegistered && Notification.permission === 'granted' ? 'done' : 'ready');
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  element('reason').textContent = String(error);
  show('failed');
}

async function subscribe() {
  element('unanswered').hidden = true;
  const permission = await Notification.requestPermission();
  if (permission === 'denied') return show('blocked');
  if (permission !== 'granted') {
    element('unanswered').hidden = false;
    return show('ready');
  }
  show('working');
  try {
    let subscription = await worker.pushManager.getSubscription();
    // A browser refuses a second key for the same page.
    if (subscription && !isOf(subscription, invitation.key)) {
      const question = 'This browser is registered with another key: by another box, or before this box got a new key. '
        + 'End that registration?';
      if (!confirm(question)) return show('ready');
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription = subscription
      || await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: invitation.key });
    await register(subscription);
  } catch (error) {
    fail(error);
  }
}

async function register(subscription) {
  element('text').value = JSON.stringify(subscription);
  element('almost').hidden = false;
  if (!invitation.code) return show('copy');
  let status = 0;
  let answer = {};
  try {
    const response = await fetch('../register', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code: invitation.code, subscription, language: navigator.language }),
    });
    status = response.status;
    answer = await response.json();
  } catch {
    // Nobody takes registrations there.
  }
  if (status === 200 && answer.state) {
    store(subscription.endpoint);
    return show('done');
  }
  if (!answer.code) return show('copy');
  element('almost').hidden = true;
  show(answer.code === 'invitation' ? 'expired' : 'unsaved', 'copy');
}

element('allow').addEventListener('click', subscribe);
element('again').addEventListener('click', start);
element('copying').addEventListener('click', async () => {
  const text = element('text');
  try {
    await navigator.clipboard.writeText(text.value);
    element('copied').hidden = false;
  } catch {
    text.select();
  }
});
element('paste').addEventListener('submit', (event) => {
  event.preventDefault();
  const address = element('address').value.trim();
  const found = read(address.slice(address.indexOf('#')));
  element('wrong').hidden = Boolean(found);
  if (found) location.hash = address.slice(address.indexOf('#'));
});
window.addEventListener('hashchange', start);
start();
