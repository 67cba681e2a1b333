import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/avatar_details?avatar_id=01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
