import json
import os
import urllib.request

body = {
    "event_type": "avatar_event",
    "webhook_url": "https://hooks.example.com/avatar-studio"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/webhooks/test",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
