// Sends the alerts of standard input with Node's http2, as its documentation shows. A request ends after 5 seconds
// without an answer, and the next alert opens another session if this one has ended.
'use strict'
const fs = require('node:fs')
const http2 = require('node:http2')
const readline = require('node:readline')

const certificate = fs.readFileSync(process.env.CERTIFICATE)
const options = { ca: fs.readFileSync(process.env.CA), cert: certificate, key: certificate }
let client
let open = 0
let isOver = false

function session () {
  if (!client || client.closed || client.destroyed) {
    client = http2.connect(process.env.URL, options)
    client.on('error', error => console.error(error.message))
  }
  return client
}

function send (token, payload) {
  const request = session().request({
    ':method': 'POST',
    ':path': `/3/device/${token}`,
    'apns-topic': process.env.TOPIC,
    'apns-push-type': 'alert'
  })
  open++
  request.setTimeout(5000, () => request.close(http2.constants.NGHTTP2_CANCEL))
  request.on('response', headers => { if (headers[':status'] !== 200) console.error(headers[':status']) })
  request.on('error', error => console.error(error.message))
  request.on('close', () => { open--; end() })
  request.resume()
  request.end(payload)
}

function end () {
  if (isOver && open === 0 && client) client.close()
}

const lines = readline.createInterface({ input: process.stdin })
lines.on('line', line => {
  const at = line.indexOf(' ')
  send(line.slice(0, at), line.slice(at + 1))
})
lines.on('close', () => { isOver = true; end() })
