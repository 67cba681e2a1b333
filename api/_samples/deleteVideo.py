import json
import os
import urllib.request

body = {
    "inference_id": "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/delete_video",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
urllib.request.urlopen(request, timeout=30).close()
