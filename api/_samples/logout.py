import json
import os
import urllib.request

body = {
    "refresh_token": "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"
}

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/users/logout",
    method="POST",
    headers={
        "Content-Type": "application/json",
    },
    data=json.dumps(body).encode(),
)
urllib.request.urlopen(request, timeout=30).close()
