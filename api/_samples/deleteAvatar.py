import json
import os
import urllib.request

body = {
    "avatar_id": "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/avatars/delete_avatar",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
urllib.request.urlopen(request, timeout=30).close()
