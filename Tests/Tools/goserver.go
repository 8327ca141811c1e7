// An independent server: Go's net/http, which answers every valid notification with 200.
//
//	go run goserver.go -certificate PEM -key PEM -ca PEM -record DIR
//	                   [-signing-key-public PEM]
//
// Prints "listening PORT" once it is ready. Listens only on 127.0.0.1; ends at SIGTERM, or when its
// standard input is a pipe that closes; and at SIGINT in order: each connection gets GOAWAY, and
// requests are answered for some seconds. It requires a client certificate of the authority; with
// -signing-key-public, it verifies a provider token in each request instead. DIR/requests has a
// JSON line for each request, written before the answer, as http2gateway.py writes them, and
// DIR/events has one for each connection.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	payloadBytesMax = 5120
	drain           = 5 * time.Second
)

var (
	begin       = time.Now()
	lock        sync.Mutex
	connections = map[string]int{} // by the client's address
	count       int
	requests    io.Writer
	events      io.Writer
	public      *ecdsa.PublicKey
)

func must(err error) {
	if err != nil {
		log.Fatalf("goserver: %v", err)
	}
}

// The caller holds the lock.
func note(to io.Writer, facts map[string]any) {
	facts["at"] = time.Since(begin).Seconds()
	line, err := json.Marshal(facts)
	must(err)
	_, err = to.Write(append(line, '\n'))
	must(err)
}

func verify(authorization string) error {
	parts := strings.Split(strings.TrimPrefix(authorization, "bearer "), ".")
	if len(parts) != 3 {
		return errors.New("no provider token")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return errors.New("the signature does not have 64 bytes")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(public, sum[:], r, s) {
		return errors.New("the signature is wrong")
	}
	return nil
}

// Returns 200, or the status and the reason for which the request is not accepted.
func judge(request *http.Request, token string, payload []byte) (int, string) {
	if public != nil {
		if err := verify(request.Header.Get("authorization")); err != nil {
			return 403, "InvalidProviderToken"
		}
	}
	if request.ProtoMajor != 2 || request.Method != "POST" {
		return 405, "MethodNotAllowed"
	}
	if bytes, err := hex.DecodeString(token); err != nil || len(bytes) < 32 {
		return 400, "BadDeviceToken"
	}
	if len(payload) > payloadBytesMax {
		return 413, "PayloadTooLarge"
	}
	if !json.Valid(payload) {
		return 400, "BadPayload"
	}
	return 200, ""
}

func answer(writer http.ResponseWriter, request *http.Request) {
	payload, err := io.ReadAll(io.LimitReader(request.Body, payloadBytesMax+1))
	if err != nil {
		return
	}
	token := strings.TrimPrefix(request.URL.Path, "/3/device/")
	status, reason := judge(request, token, payload)
	headers := map[string]string{":method": request.Method, ":path": request.URL.Path, ":authority": request.Host}
	for name, values := range request.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	lock.Lock()
	count++
	note(requests, map[string]any{
		"number": count, "connection": connections[request.RemoteAddr], "token": token, "headers": headers,
		"payload": string(payload), "accepted": status == 200, "answer": status, "reason": reason, "fault": nil})
	lock.Unlock()
	writer.Header().Set("apns-id", request.Header.Get("apns-id"))
	writer.WriteHeader(status)
	if reason != "" {
		fmt.Fprintf(writer, `{"reason":%q}`, reason)
	}
}

func tell(connection net.Conn, state http.ConnState) {
	lock.Lock()
	defer lock.Unlock()
	address := connection.RemoteAddr().String()
	switch state {
	case http.StateActive: // after the handshake
		if _, known := connections[address]; !known {
			connections[address] = len(connections) + 1
			note(events, map[string]any{"connection": connections[address], "event": "open"})
		}
	case http.StateClosed:
		note(events, map[string]any{"connection": connections[address], "event": "closed"})
	}
}

func publicKey(path string) *ecdsa.PublicKey {
	text, err := os.ReadFile(path)
	must(err)
	block, _ := pem.Decode(text)
	if block == nil {
		must(errors.New(path + ": no PEM"))
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	must(err)
	of, isECDSA := key.(*ecdsa.PublicKey)
	if !isECDSA {
		must(errors.New(path + ": no ECDSA key"))
	}
	return of
}

func endWithStdin() {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
}

func main() {
	certificate := flag.String("certificate", "", "PEM")
	key := flag.String("key", "", "PEM")
	authority := flag.String("ca", "", "PEM")
	record := flag.String("record", "", "directory")
	signer := flag.String("signing-key-public", "", "PEM")
	flag.Parse()
	log.SetFlags(0)

	must(os.MkdirAll(*record, 0o755))
	open := func(name string) io.Writer {
		file, err := os.OpenFile(filepath.Join(*record, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		must(err)
		return file
	}
	requests, events = open("requests"), open("events")

	text, err := os.ReadFile(*authority)
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	settings := &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	if *signer != "" {
		public = publicKey(*signer)
		settings.ClientAuth = tls.VerifyClientCertIfGiven
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	server := &http.Server{Handler: http.HandlerFunc(answer), TLSConfig: settings, ConnState: tell}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	go func() {
		if err := server.ServeTLS(listener, *certificate, *key); err != http.ErrServerClosed {
			must(err)
		}
	}()
	go endWithStdin()
	if <-ends == syscall.SIGINT {
		while, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		server.Shutdown(while)
	}
}
