import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/lipsync/inference_details?inference_id=01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
