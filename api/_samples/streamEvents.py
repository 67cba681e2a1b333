import os
import urllib.request

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/events/stream",
    method="GET",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    for line in response:
        print(line.decode(), end="")
