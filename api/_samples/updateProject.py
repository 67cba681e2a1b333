import json
import os
import urllib.request

body = {
    "project_id": "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41",
    "shared": True,
    "tags": {
        "colors": [
            "#2D7FF9"
        ],
        "names": [
            "onboarding"
        ]
    }
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/projects/update",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
