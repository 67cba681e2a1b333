import json
import os
import urllib.request
import uuid

body = {
    "title": "Ada",
    "webhook": {
        "enabled": True
    },
    "webhook_data": {
        "webhook_url": "https://hooks.example.com/avatar-studio"
    }
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/create_avatar",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),  # the same when this request is sent again
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
