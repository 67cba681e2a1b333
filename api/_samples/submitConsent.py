import json
import os
import urllib.request

body = {
    "avatar_id": "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
    "granted": True
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/submit_consent",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
