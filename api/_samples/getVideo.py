import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/inference_details?inference_id=01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
