/* CMicroHTTP: the server's end of HTTP/1.1, with libmicrohttpd. The caller accepts the connections,
   and waits for the server's descriptor; the server has no thread.

   The server calls the caller twice for each request: once its headers are there, and once its body
   is. Connections, the bytes of bodies, and times are bounded. */

#ifndef CMICROHTTP_H
#define CMICROHTTP_H

#include <stddef.h>
#include <stdint.h>

/* The most connections at a time; those of them over TCP; and those of one address that is no loopback
   address, or of one IPv6 network of 64 bits. So other machines leave room for each other, and all of
   them leave room for the UNIX socket. */
#define CMICROHTTP_CONNECTIONS_MAX 16
#define CMICROHTTP_TCP_MAX 12
#define CMICROHTTP_ADDRESS_MAX 6

/* The negative results of a call. */
enum {
  CMICROHTTP_TOO_LARGE = -1, /* the request's body is larger than allowed, and was not kept */
  CMICROHTTP_NO_MEMORY = -2, /* the bodies of all requests together are larger than allowed */
  CMICROHTTP_MALFORMED = -3, /* the body is no form */
  CMICROHTTP_FILE = -4,      /* the form has a file */
};

typedef struct cmicrohttp_server cmicrohttp_server;
typedef struct cmicrohttp_request cmicrohttp_request;

typedef struct {
  size_t body_max;            /* the most bytes of a request's body */
  size_t bodies_max;          /* the most bytes of all bodies that are kept at a time */
  unsigned idle_seconds;      /* a connection without traffic, or without a whole head, is closed after this time */
  unsigned lifetime_seconds;  /* a connection is closed after this time, once what came is answered */
  void *user;                 /* passed to both functions */
  /* Called when a request's headers are there. An answer at this point is final: the body is read
     and discarded, or the connection is closed. */
  void (*on_headers)(void *user, cmicrohttp_request *request);
  /* Called when an unanswered request is complete. The function must answer it, or hold it. */
  void (*on_complete)(void *user, cmicrohttp_request *request);
} cmicrohttp_settings;

/* Creates a server. The settings are copied. Returns NULL if there is no memory; free the server
   with cmicrohttp_free. */
cmicrohttp_server *cmicrohttp_new(const cmicrohttp_settings *settings);

/* Closes all connections and frees the server; NULL is allowed. */
void cmicrohttp_free(cmicrohttp_server *server);

/* Returns a descriptor that becomes readable when cmicrohttp_run has something to do. */
int cmicrohttp_descriptor(const cmicrohttp_server *server);

/* Returns how many connections the server can take now, over TCP or a UNIX socket. */
int cmicrohttp_room(const cmicrohttp_server *server, int is_unix);

/* Takes a connected non-blocking socket, for which there is room, and which the server closes: at
   once if its address has too many. Returns 0, or -1 with the socket closed. */
int cmicrohttp_add(cmicrohttp_server *server, int socket);

/* Does what can be done without waiting. Call it when the descriptor is readable, and after
   cmicrohttp_timeout_ms. */
void cmicrohttp_run(cmicrohttp_server *server);

/* Returns the milliseconds until cmicrohttp_run must be called; -1: no limit. */
int cmicrohttp_timeout_ms(const cmicrohttp_server *server);

/* Returns the number of connections. */
unsigned cmicrohttp_connections(const cmicrohttp_server *server);

/* Return parts of a request, valid during the call. The target is what the client sent, without
   decoding. A missing header is NULL. */
const char *cmicrohttp_method(const cmicrohttp_request *request);
const char *cmicrohttp_target(const cmicrohttp_request *request);
const char *cmicrohttp_header(const cmicrohttp_request *request, const char *name);

/* Returns whether the request came over a UNIX socket. */
int cmicrohttp_is_unix(const cmicrohttp_request *request);

/* Returns whether the headers leave no doubt where the body ends (RFC 9112, section 6.3): at most one
   of Content-Length and Transfer-Encoding, once, and no name of a header ends with a space. If they
   do, a proxy in front may see other requests in the same bytes. */
int cmicrohttp_has_clear_length(const cmicrohttp_request *request);

/* Writes the body of a complete request of the media type multipart/form-data anew, as one of
   application/x-www-form-urlencoded with the same names and values. */
void cmicrohttp_read_form(cmicrohttp_request *request);

/* Returns the bytes of a complete request's body, or a negative result. */
long cmicrohttp_body_count(const cmicrohttp_request *request);

/* Allows fewer bytes for a request's body than the settings do. */
void cmicrohttp_limit_body(cmicrohttp_request *request, size_t body_max);

/* Returns the body; NULL if it is empty. Valid during the call. */
const uint8_t *cmicrohttp_body(const cmicrohttp_request *request);

/* Answers a request. The bytes are copied. `type`: the media type of the body; NULL if there is
   none. Only the first answer counts. */
void cmicrohttp_answer(cmicrohttp_request *request, unsigned status, const char *type, const uint8_t *body,
                       size_t count);

/* Holds a complete request: its answer comes later. Release it before the next cmicrohttp_timeout_ms. */
void cmicrohttp_hold(cmicrohttp_request *request);

/* Goes on with a request that was held and has been answered. cmicrohttp_run sends the answer. */
void cmicrohttp_release(cmicrohttp_request *request);

/* Adds a header to the answer, which must have been given. */
void cmicrohttp_add_header(cmicrohttp_request *request, const char *name, const char *value);

#endif
