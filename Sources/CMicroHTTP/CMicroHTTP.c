#include "CMicroHTTP.h"

#include <arpa/inet.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The bytes of a connection's buffer, which holds the request line, the headers, and a piece of the
   body. A larger head is answered with 431. */
#define CONNECTION_BYTES 16384

/* Where a connection comes from. The address of IPv4 is mapped into IPv6. */
struct peer {
  int is_unix;
  struct in6_addr address;
};

struct connection {
  int socket;
  int is_used;
  struct peer peer;
  time_t end;    /* the end of the connection's lifetime */
  time_t until;  /* the end of what it does now */
  int shut;      /* whether it was shut for reading (1), or for both (2), since then */
};

struct cmicrohttp_server {
  struct MHD_Daemon *daemon;
  cmicrohttp_settings settings;
  size_t bodies;
  struct connection connections[CMICROHTTP_CONNECTIONS_MAX];
};

enum { small_body = 4096 };

struct body {
  uint8_t *bytes;
  size_t count, capacity;
};

struct cmicrohttp_request {
  cmicrohttp_server *server;
  struct MHD_Connection *connection;
  const char *method;
  char *target;
  struct body body;
  size_t body_max;
  size_t discarded;
  int problem;  /* a negative result */
  int has_begun;
  int is_held;
  unsigned status;
  struct MHD_Response *response;
};

static time_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

static struct connection *connection_of(const struct cmicrohttp_request *request) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

/* Gives a connection until the end of its lifetime, or at most until the next head must be there. */
static void allow(const struct cmicrohttp_request *request, int is_whole_lifetime) {
  struct connection *known = connection_of(request);
  if (!known) return;
  time_t soon = now() + (time_t)request->server->settings.idle_seconds;
  known->until = is_whole_lifetime || soon > known->end ? known->end : soon;
  known->shut = 0;
}

/* libmicrohttpd decodes the target before it calls the handler. The URI callback comes earlier, and
   its result is the request's state from then on. */
static void *on_target(void *user, const char *target, struct MHD_Connection *connection) {
  struct cmicrohttp_request *request = calloc(1, sizeof *request);
  if (!request) return NULL;
  request->server = user;
  request->connection = connection;
  request->body_max = request->server->settings.body_max;
  request->target = strdup(target);
  if (request->target) return request;
  free(request);
  return NULL;
}

/* The bytes that count towards the bound of all bodies. A small body always has room. */
static size_t charge(size_t capacity) { return capacity > small_body ? capacity - small_body : 0; }

static void on_end(void *user, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
  (void)user, (void)connection, (void)code;
  struct cmicrohttp_request *request = *state;
  *state = NULL;
  if (!request) return;
  allow(request, 0);
  request->server->bodies -= charge(request->body.capacity);
  if (request->response) MHD_destroy_response(request->response);
  free(request->body.bytes);
  free(request->target);
  free(request);
}

static void keep(struct cmicrohttp_request *request, const char *bytes, size_t count) {
  struct cmicrohttp_server *server = request->server;
  struct body *body = &request->body;
  if (request->problem) return;
  if (count > request->body_max - body->count) {
    request->problem = CMICROHTTP_TOO_LARGE;
    return;
  }
  if (count > body->capacity - body->count) {
    size_t capacity = body->capacity ? body->capacity * 2 : small_body;
    if (capacity > request->body_max) capacity = request->body_max;
    if (capacity < body->count + count) capacity = body->count + count;
    size_t more = charge(capacity) - charge(body->capacity);
    /* Strangers over TCP leave a quarter for the programs of this machine. */
    size_t most = server->settings.bodies_max;
    if (!cmicrohttp_is_unix(request)) most -= most / 4;
    uint8_t *larger = more == 0 || server->bodies + more <= most ? realloc(body->bytes, capacity) : NULL;
    if (!larger) {
      request->problem = CMICROHTTP_NO_MEMORY;
      return;
    }
    body->bytes = larger;
    body->capacity = capacity;
    server->bodies += more;
  }
  memcpy(body->bytes + body->count, bytes, count);
  body->count += count;
}

static enum MHD_Result send_answer(struct cmicrohttp_request *request) {
  if (!request->response) return MHD_NO;
  return MHD_queue_response(request->connection, request->status, request->response);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *count, void **state) {
  (void)user, (void)connection, (void)url, (void)version;
  struct cmicrohttp_request *request = *state;
  if (!request) return MHD_NO;
  request->method = method;
  if (!request->has_begun) {
    request->has_begun = 1;
    request->server->settings.on_headers(request->server->settings.user, request);
    // Somebody who may not send gets no time for a slow body.
    allow(request, !request->response);
    // The body of a client that waits for leave to send it never comes, and nobody knows where one of
    // unclear length ends. Other clients would lose the answer if the connection were closed while
    // they send.
    int is_final = !cmicrohttp_has_clear_length(request) || cmicrohttp_header(request, "Expect") != NULL;
    return request->response && is_final ? send_answer(request) : MHD_YES;
  }
  if (*count > 0) {
    if (request->response || request->problem) {
      request->discarded += *count;
      if (request->discarded > 8 * request->server->settings.body_max) return MHD_NO;
    } else {
      keep(request, bytes, *count);
    }
    *count = 0;
    return MHD_YES;
  }
  if (!request->response) request->server->settings.on_complete(request->server->settings.user, request);
  return request->is_held ? MHD_YES : send_answer(request);
}

static struct peer peer_of(int socket) {
  struct sockaddr_storage name = {0};
  socklen_t size = sizeof name;
  struct peer peer = {.is_unix = 0};
  getpeername(socket, (struct sockaddr *)&name, &size);
  if (name.ss_family == AF_INET6) peer.address = ((struct sockaddr_in6 *)&name)->sin6_addr;
  if (name.ss_family == AF_INET) {
    memset(peer.address.s6_addr + 10, 0xFF, 2);
    memcpy(peer.address.s6_addr + 12, &((struct sockaddr_in *)&name)->sin_addr, 4);
  }
  peer.is_unix = name.ss_family == AF_UNIX;
  return peer;
}

static int is_loopback(const struct peer *peer) {
  return IN6_IS_ADDR_LOOPBACK(&peer->address) || (IN6_IS_ADDR_V4MAPPED(&peer->address) && peer->address.s6_addr[12] == 127);
}

/* Counts the connections that come from where `peer` does; NULL: all over TCP. */
static int count(const cmicrohttp_server *server, const struct peer *peer) {
  int found = 0;
  for (int index = 0; index < CMICROHTTP_CONNECTIONS_MAX; index++) {
    const struct connection *known = &server->connections[index];
    if (!known->is_used || known->peer.is_unix) continue;
    // An owner of an IPv6 network has all its addresses.
    size_t bytes = peer && IN6_IS_ADDR_V4MAPPED(&peer->address) ? 16 : 8;
    if (!peer || memcmp(&known->peer.address, &peer->address, bytes) == 0) found++;
  }
  return found;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code) {
  struct cmicrohttp_server *server = user;
  struct connection *known = *state;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    if (known) known->is_used = 0;
    return;
  }
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  for (int index = 0; info && index < CMICROHTTP_CONNECTIONS_MAX; index++) {
    known = &server->connections[index];
    if (known->is_used) continue;
    time_t start = now();
    *known = (struct connection){
      .socket = info->connect_fd,
      .is_used = 1,
      .peer = peer_of(info->connect_fd),
      .end = start + (time_t)server->settings.lifetime_seconds,
      .until = start + (time_t)server->settings.idle_seconds,
    };
    *state = known;
    return;
  }
}

/* Leaves the text as it is: the caller decodes the target. */
static size_t keep_escapes(void *user, struct MHD_Connection *connection, char *text) {
  (void)user, (void)connection;
  return strlen(text);
}

cmicrohttp_server *cmicrohttp_new(const cmicrohttp_settings *settings) {
  struct cmicrohttp_server *server = calloc(1, sizeof *server);
  if (!server) return NULL;
  server->settings = *settings;
  server->daemon = MHD_start_daemon(
    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CMICROHTTP_CONNECTIONS_MAX,
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
    MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds,
    MHD_OPTION_STRICT_FOR_CLIENT, 1,
    MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
    MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
    MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
    MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
    MHD_OPTION_END);
  if (server->daemon) return server;
  free(server);
  return NULL;
}

void cmicrohttp_free(cmicrohttp_server *server) {
  if (!server) return;
  MHD_stop_daemon(server->daemon);
  free(server);
}

int cmicrohttp_descriptor(const cmicrohttp_server *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

int cmicrohttp_room(const cmicrohttp_server *server, int is_unix) {
  int room = CMICROHTTP_CONNECTIONS_MAX - (int)cmicrohttp_connections(server);
  int room_of_tcp = CMICROHTTP_TCP_MAX - count(server, NULL);
  return is_unix || room < room_of_tcp ? room : room_of_tcp;
}

int cmicrohttp_add(cmicrohttp_server *server, int socket) {
  struct peer peer = peer_of(socket);
  if (!peer.is_unix && !is_loopback(&peer) && count(server, &peer) >= CMICROHTTP_ADDRESS_MAX) {
    close(socket);
    return -1;
  }
  // libmicrohttpd's own limit for each address is not used.
  struct sockaddr address = {.sa_family = AF_UNSPEC};
  if (MHD_add_connection(server->daemon, socket, &address, sizeof address) != MHD_YES) return -1;
  // Only now on_connection is called, which counts the connection.
  MHD_run(server->daemon);
  return 0;
}

void cmicrohttp_run(cmicrohttp_server *server) {
  // An answer that is ready goes before its connection ends.
  MHD_run(server->daemon);
  time_t time = now();
  for (int index = 0; index < CMICROHTTP_CONNECTIONS_MAX; index++) {
    struct connection *known = &server->connections[index];
    if (!known->is_used || time < known->until) continue;
    // What was received is still answered, unless the client does not take the answer.
    int shut = time >= known->until + (time_t)server->settings.idle_seconds ? 2 : 1;
    // Each call makes an event, which would wake this program at once.
    if (known->shut < shut) shutdown(known->socket, shut == 2 ? SHUT_RDWR : SHUT_RD);
    known->shut = shut;
  }
}

int cmicrohttp_timeout_ms(const cmicrohttp_server *server) {
  long long wait = INT_MAX;
  MHD_UNSIGNED_LONG_LONG timeout;
  if (MHD_get_timeout(server->daemon, &timeout) == MHD_YES && timeout < INT_MAX) wait = (long long)timeout;
  time_t time = now();
  for (int index = 0; index < CMICROHTTP_CONNECTIONS_MAX; index++) {
    const struct connection *known = &server->connections[index];
    if (!known->is_used) continue;
    // A connection past its time is closed by the traffic or the time limit that follows.
    long long rest = known->until > time ? (long long)(known->until - time) * 1000 : 1000;
    if (rest < wait) wait = rest;
  }
  return wait == INT_MAX ? -1 : (int)wait;
}

unsigned cmicrohttp_connections(const cmicrohttp_server *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info ? info->num_connections : 0;
}

const char *cmicrohttp_method(const cmicrohttp_request *request) { return request->method; }

const char *cmicrohttp_target(const cmicrohttp_request *request) { return request->target; }

const char *cmicrohttp_header(const cmicrohttp_request *request, const char *name) {
  return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

int cmicrohttp_is_unix(const cmicrohttp_request *request) {
  const struct connection *known = connection_of(request);
  return known && known->peer.is_unix;
}

struct length {
  int lengths, codings, is_clear;
};

static enum MHD_Result look_at_length(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct length *length = user;
  (void)kind;
  size_t count = strlen(name);
  if (count == 0 || name[count - 1] == ' ' || name[count - 1] == '\t') length->is_clear = 0;
  if (strcasecmp(name, "Content-Length") == 0) length->lengths++;
  if (strcasecmp(name, "Transfer-Encoding") == 0) {
    length->codings++;
    if (!value || strcasecmp(value, "chunked") != 0) length->is_clear = 0;
  }
  return MHD_YES;
}

int cmicrohttp_has_clear_length(const cmicrohttp_request *request) {
  struct length length = {.is_clear = 1};
  MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_length, &length);
  return length.is_clear && length.lengths + length.codings <= 1;
}

void cmicrohttp_limit_body(cmicrohttp_request *request, size_t body_max) { request->body_max = body_max; }

long cmicrohttp_body_count(const cmicrohttp_request *request) {
  return request->problem ? request->problem : (long)request->body.count;
}

const uint8_t *cmicrohttp_body(const cmicrohttp_request *request) { return request->body.bytes; }

static void keep_escaped(struct cmicrohttp_request *request, const char *bytes, size_t count) {
  for (size_t index = 0; index < count; index++) {
    char byte = bytes[index];
    if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) {
      keep(request, &byte, 1);
      continue;
    }
    char escape[4];
    snprintf(escape, sizeof escape, "%%%02X", (unsigned char)byte);
    keep(request, escape, 3);
  }
}

/* Takes a piece of a value. */
static enum MHD_Result on_field(void *user, enum MHD_ValueKind kind, const char *name, const char *file,
                                const char *type, const char *coding, const char *bytes, uint64_t offset,
                                size_t count) {
  (void)kind, (void)type, (void)coding;
  struct cmicrohttp_request *request = user;
  if (!name || file) request->problem = CMICROHTTP_FILE;
  if (request->problem) return MHD_NO;
  if (offset == 0) {
    if (request->body.count > 0) keep(request, "&", 1);
    keep_escaped(request, name, strlen(name));
    keep(request, "=", 1);
  }
  keep_escaped(request, bytes, count);
  return MHD_YES;
}

void cmicrohttp_read_form(cmicrohttp_request *request) {
  if (request->problem) return;
  struct body form = request->body;
  request->body = (struct body){0};
  struct MHD_PostProcessor *reader = MHD_create_post_processor(request->connection, 4096, on_field, request);
  int is_read = reader && MHD_post_process(reader, (const char *)form.bytes, form.count) == MHD_YES;
  int is_whole = reader && MHD_destroy_post_processor(reader) == MHD_YES;
  if (!request->problem && !(is_read && is_whole)) request->problem = CMICROHTTP_MALFORMED;
  request->server->bodies -= charge(form.capacity);
  free(form.bytes);
}

void cmicrohttp_answer(cmicrohttp_request *request, unsigned status, const char *type, const uint8_t *body,
                       size_t count) {
  if (request->response) return;
  request->status = status;
  request->response = MHD_create_response_from_buffer(count, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
  if (type) cmicrohttp_add_header(request, "Content-Type", type);
  /* Nobody knows where the next request of the connection begins behind a body of unclear length. Over
     TCP that may be any body: libmicrohttpd does not show all of a head with folded lines. */
  if (!cmicrohttp_is_unix(request) || !cmicrohttp_has_clear_length(request))
    cmicrohttp_add_header(request, "Connection", "close");
}

void cmicrohttp_hold(cmicrohttp_request *request) {
  request->is_held = 1;
  MHD_suspend_connection(request->connection);
}

void cmicrohttp_release(cmicrohttp_request *request) {
  request->is_held = 0;
  MHD_resume_connection(request->connection);
}

void cmicrohttp_add_header(cmicrohttp_request *request, const char *name, const char *value) {
  if (request->response) MHD_add_response_header(request->response, name, value);
}
