import json
import os
import urllib.request

body = {
    "email": "ada@example.com",
    "password": "correct horse battery staple"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/users/login",
    method="POST",
    headers={
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
