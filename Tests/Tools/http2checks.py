"""The checks of Apple's HTTP/2 service on a request, and their reasons, except those on the device
token."""
import json
import re

from cryptography import x509
from cryptography.x509.oid import NameOID

PAYLOAD_BYTES_MAX, VOIP_PAYLOAD_BYTES_MAX = 4096, 5120
COLLAPSE_ID_BYTES_MAX = 64
TOPICS_EXTENSION = x509.ObjectIdentifier("1.2.840.113635.100.6.3.6")
UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
TOKEN = re.compile(r"[0-9a-f]{64,200}")
NUMBER = re.compile(r"[0-9]{1,18}")
SUFFIXES = {  # the topic's suffix, by push type
    "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
    "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
    "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets",
    "controls": ".push-type.controls",
}


def certificate_topics(der):
    """Returns the topics that a client certificate allows: its UID, and those in Apple's
    extension."""
    if not der:
        return []
    certificate = x509.load_der_x509_certificate(der)
    topics = [name.value for name in certificate.subject.get_attributes_for_oid(NameOID.USER_ID)]
    try:
        listed = certificate.extensions.get_extension_for_oid(TOPICS_EXTENSION).value.value
    except x509.ExtensionNotFound:
        return topics
    # UTF8String, tag 12, shorter than 128 bytes. Topics have a dot; the words for their uses do
    # not.
    found = (listed[at + 2:at + 2 + listed[at + 1]] for at in range(len(listed) - 1) if listed[at] == 12)
    topics += [text.decode() for text in found if b"." in text]
    return list(dict.fromkeys(topics))


def base_topic(topic, push_type):
    """Returns the bundle ID of a topic; None if the topic lacks the push type's suffix."""
    suffix = SUFFIXES.get(push_type, "")
    return topic[:len(topic) - len(suffix)] if topic.endswith(suffix) else None


def fault(headers, payload, topics, has_certificate):
    """Returns (status, reason) if a request is wrong, or None. `topics` are the allowed ones;
    empty: any."""
    names = [name for name, _ in headers]
    values = dict(headers)
    if values.get(":method") != "POST":
        return 405, "MethodNotAllowed"
    if not values.get(":path", "").startswith("/3/device/"):
        return 404, "BadPath"
    token = values[":path"][len("/3/device/"):]
    if not token:
        return 400, "MissingDeviceToken"
    if len(set(names)) != len(names):
        return 400, "DuplicateHeaders"
    if not TOKEN.fullmatch(token) or len(token) % 2 or not token.strip("0"):
        return 400, "BadDeviceToken"
    push_type, topic = values.get("apns-push-type", "alert"), values.get("apns-topic")
    if push_type not in SUFFIXES:
        return 400, "InvalidPushType"
    if topic is None and (not has_certificate or len(topics) > 1):
        return 400, "MissingTopic"
    if topic is not None and not base_topic(topic, push_type):
        return 400, "BadTopic"
    if topic is not None and topics and topic not in topics and base_topic(topic, push_type) not in topics:
        return 400, "TopicDisallowed"
    priority = values.get("apns-priority", "10")
    # A background push must have an explicit priority below 10, since 10 is the default.
    if priority not in ("10", "5", "1") or push_type == "background" and values.get("apns-priority") == "10":
        return 400, "BadPriority"
    if not NUMBER.fullmatch(values.get("apns-expiration", "0")):
        return 400, "BadExpirationDate"
    if "apns-id" in values and not UUID.fullmatch(values["apns-id"]):
        return 400, "BadMessageId"
    if len(values.get("apns-collapse-id", "").encode("latin-1")) > COLLAPSE_ID_BYTES_MAX:
        return 400, "BadCollapseId"
    return payload_fault(payload, push_type)


def payload_fault(payload, push_type):
    if not payload:
        return 400, "PayloadEmpty"
    if len(payload) > (VOIP_PAYLOAD_BYTES_MAX if push_type == "voip" else PAYLOAD_BYTES_MAX):
        return 413, "PayloadTooLarge"
    try:
        if isinstance(json.loads(payload), dict):
            return None
    except ValueError:
        pass
    return 400, "BadPayload"  # Apple documents no reason for this
