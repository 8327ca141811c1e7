// Sends the alerts of standard input with Go's net/http, close to its documentation, with a timeout of 10 seconds of our choice.
// -tries is how often an alert is tried, with a second between.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func send(client *http.Client, token, payload string) error {
	request, err := http.NewRequest("POST", os.Getenv("URL")+"/3/device/"+token, strings.NewReader(payload))
	if err != nil {
		return err
	}
	request.Header.Set("apns-topic", os.Getenv("TOPIC"))
	request.Header.Set("apns-push-type", "alert")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	io.Copy(io.Discard, answer.Body)
	return err
}

func main() {
	tries := flag.Int("tries", 1, "")
	flag.Parse()
	certificate, err := tls.LoadX509KeyPair(os.Getenv("CERTIFICATE"), os.Getenv("CERTIFICATE"))
	must(err)
	authority, err := os.ReadFile(os.Getenv("CA"))
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool},
			ForceAttemptHTTP2: true,
		},
		Timeout: 10 * time.Second,
	}
	var open sync.WaitGroup
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		token, payload, _ := strings.Cut(lines.Text(), " ")
		open.Add(1)
		go func() {
			defer open.Done()
			for try := 1; ; try++ {
				err := send(client, token, payload)
				if err == nil {
					return
				}
				log.Print(err)
				if try == *tries {
					return
				}
				time.Sleep(time.Second)
			}
		}()
	}
	open.Wait()
}
