import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/voices",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
