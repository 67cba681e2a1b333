// Uploads a file when it is selected, and enters its URL in the field.
for (const input of document.querySelectorAll("input[data-upload]")) {
  const box = input.parentElement, bar = box.querySelector("progress"), status = box.querySelector("output")
  const field = document.getElementById(input.dataset.upload), submit = input.form.querySelector("button[type=submit]")
  box.hidden = false
  let request
  input.addEventListener("change", () => {
    const file = input.files[0]
    if (!file) return
    request?.abort() // the file that was selected before
    field.value = "" // the file replaces it, and must not leave that of another file if it cannot be uploaded
    const end = text => {
      bar.hidden = true; status.textContent = text
      submit.disabled = input.form.querySelector("progress:not([hidden])") !== null // another upload of the form goes on
    }
    if (file.size === 0) return end("The file is empty.")
    request = new XMLHttpRequest()
    request.open("POST", "/console/uploads")
    request.responseType = "json"
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream")
    request.upload.addEventListener("progress", event => { bar.value = 100 * event.loaded / event.total })
    request.addEventListener("error", () => end("The upload failed."))
    request.addEventListener("load", () => {
      if (request.status === 201) field.value = request.response.url
      const problem = request.status === 401 ? "Your session has ended. Sign in in another tab, and select the file again." : request.response?.detail
      end(request.status === 201 ? "Uploaded." : problem ?? "The upload failed.")
    })
    bar.value = 0; bar.hidden = false; status.textContent = "Uploading…"; submit.disabled = true
    request.send(file)
  })
}

// Holds a change of the page back while a button or the space bar is pressed, because a click needs the element on
// which it began.
let pressed = false, held = () => {}
addEventListener("pointerdown", event => { pressed ||= event.button === 0 }, true)
addEventListener("keydown", event => { pressed ||= event.key === " " }, true)
// A release that a page does not get, such as one over a menu of the system, shows in the next movement.
for (const end of ["pointerup", "pointercancel", "pointermove", "keyup"]) addEventListener(end, event => {
  if (pressed && !event.buttons) setTimeout(() => { held(); pressed = false; held = () => {} })
}, true)
addEventListener("htmx:sseBeforeMessage", event => {
  if (!pressed) return
  event.preventDefault()
  held = () => { htmx.swap(event.target, event.detail.data, { swapStyle: "innerHTML" }); say(event.target) }
})

// Says a change of the state, and nothing else of the element that changes.
function say(changed) {
  const said = document.getElementById("said")
  const text = [...changed.querySelectorAll(".badge, .reason")].map(e => e.textContent).join(". ")
  if (said && said.textContent !== text) said.textContent = text
}
addEventListener("htmx:sseMessage", event => say(event.target))

// Drops the notice about an act from the address, because it may be false after a reload or the button Back. Without a
// notice, the page may be the response to a form, which no reload would send again after replaceState.
const address = new URL(location)
if (address.searchParams.has("done")) {
  address.searchParams.delete("done")
  history.replaceState(history.state, "", address)
  addEventListener("pagehide", () => document.querySelector(".notice")?.remove()) // Back may show this document again
}

// Copies the text of a field or an element.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener("click", async () => {
    if (field.select) field.select()
    else getSelection().selectAllChildren(field)
    if (navigator.clipboard) await navigator.clipboard.writeText(field.value ?? field.textContent)
    else document.execCommand("copy") // over http
    button.textContent = "Copied"
  })
}

// Sends a form once if its button is clicked twice, because the first response would be lost.
addEventListener("submit", event => {
  const form = event.target
  if (event.timeStamp - form.dataset.sent < 10_000) event.preventDefault()
  else form.dataset.sent = event.timeStamp
})
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent }) // after the button Back
