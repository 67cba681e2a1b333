import json
import os
import urllib.request
import uuid

body = {
    "event_ids": [
        "01936f40-0000-8000-8000-000000000003"
    ],
    "states": [
        "exhausted",
        "delivered"
    ]
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/events/replay",
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
