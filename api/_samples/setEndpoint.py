import json
import os
import urllib.request

body = {
    "endpoint_id": "ZW5kcG9pbnQtMg",
    "state": "paused"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/webhooks/set_endpoint",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
