const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/events/stream`, {
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
  },
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
  console.log(text);
}

export {};
