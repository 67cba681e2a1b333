import json
import os
import urllib.request

body = {
    "inference_id": "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/lipsync/delete_lipsync",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
urllib.request.urlopen(request, timeout=30).close()
