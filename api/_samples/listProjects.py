import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/projects/v2",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "x-workspace-id": os.environ["STUDIO_WORKSPACE"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
