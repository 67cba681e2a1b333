import json
import os
import urllib.request

with open("video.mp4", "rb") as file:
    body = file.read()

request = urllib.request.Request(
    os.environ["STUDIO_BASE_URL"] + "/v1/media",
    method="POST",
    headers={
        "Authorization": "Bearer " + os.environ["STUDIO_TOKEN"],
        "Content-Type": "video/mp4",
    },
    data=body,
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response))
