// nodered.js FLOWS NODE PAYLOAD
//
// Sends a message with this payload (JSON) to a node of exported flows, and passes it on as
// Node-RED does. Supports only the kinds of nodes below. Prints a line of JSON for each message to
// a debug node.
'use strict';
const { exec } = require('child_process');
const fs = require('fs');

const [, , path, start, payload] = process.argv;
const nodes = new Map(JSON.parse(fs.readFileSync(path, 'utf8')).map((node) => [node.id, node]));

const kinds = {
  function(node, msg, send) {
    send([new Function('msg', node.func)(msg)]);
  },
  // The command is one line for the shell. Output, errors and status go to separate outputs.
  exec(node, msg, send) {
    if (node.useSpawn !== 'false') throw new Error('spawn is unsupported');
    let command = node.command;
    if (node.addpay === true && msg.payload !== undefined) command += ' ' + msg.payload;
    if (node.append.trim() !== '') command += ' ' + node.append;
    const options = { encoding: 'binary', shell: fs.existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh' };
    exec(command, options, (error, output, errors) => {
      const rc = { code: error ? error.code : 0 };
      send([{ ...msg, payload: output, rc }, errors ? { ...msg, payload: errors, rc } : null, { ...msg, payload: rc }]);
    });
  },
  file(node, msg, send) {
    const wanted = { filename: 'filename', filenameType: 'msg', overwriteFile: 'true', createDir: false, encoding: 'none' };
    for (const key in wanted) if (node[key] !== wanted[key]) throw new Error(`${key} is unsupported`);
    let data = typeof msg.payload === 'object' ? JSON.stringify(msg.payload) : String(msg.payload);
    if (node.appendNewline) data += '\n';
    fs.writeFile(msg.filename, data, (error) => {
      if (error) throw error;
      send([msg]);
    });
  },
  debug(node, msg) {
    console.log(JSON.stringify(msg[node.complete]));
  },
};

function take(id, msg) {
  const node = nodes.get(id);
  kinds[node.type](node, msg, (outputs) => {
    outputs.forEach((output, index) => {
      for (const next of output ? node.wires[index] : []) take(next, output);
    });
  });
}

take(start, { _msgid: process.pid.toString(16).padStart(16, '0'), payload: JSON.parse(payload) });
