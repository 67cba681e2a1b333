// Signs the notifications on stdin with the npm package standardwebhooks.
"use strict";
const { Webhook } = require("standardwebhooks");

const signatures = JSON.parse(require("node:fs").readFileSync(0, "utf8")).map(({ secrets, id, timestamp, body, times }) =>
  new Webhook(secrets[0]).sign(id, new Date(timestamp * 1000), Buffer.concat(Array(times).fill(Buffer.from(body, "base64")))));

process.stdout.write(JSON.stringify(signatures));
