import json
import os
import urllib.request
import uuid

body = {
    "audio_url": "https://api.example.com/media/uploads/01936f3e-bd40-7a84-8d60-3f8ea04c5d63/file.wav?expires=1764432000&signature=bmF0",
    "description": "For the team in Lyon.",
    "title": "Greeting in French",
    "webhook": {
        "enabled": True
    },
    "webhook_data": {
        "webhook_url": "https://hooks.example.com/avatar-studio"
    }
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/lipsync/create_lipsync",
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
