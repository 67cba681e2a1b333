// Signs and verifies the notifications on stdin with the npm package standardwebhooks.
"use strict";
const { Webhook } = require("standardwebhooks");
const { sign, verify } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));

const signatures = sign.map(({ secret, id, timestamp, body }) =>
  new Webhook(secret).sign(id, new Date(timestamp * 1000), Buffer.from(body, "base64")));

const failures = verify.map(({ secret, header, body, now }) => {
  Date.now = () => now;
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), header, { jsonParse: false });
    return "";
  } catch (error) {
    return error.message;
  }
});

process.stdout.write(JSON.stringify({ signatures, failures }));
