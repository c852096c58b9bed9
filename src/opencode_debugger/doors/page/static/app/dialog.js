/** A modal dialog with a form: it has the focus while it is open, and Escape closes it. */
import { html, useEffect, useRef } from "./framework.js";

export function Dialog({ title, onClose, onSubmit, children, isBusy, error, submitTitle }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  const submit = (event) => {
    event.preventDefault();
    if (!isBusy) onSubmit();
  };
  return html`<dialog class="form-dialog" ref=${dialog} aria-labelledby="dialog-title" onClose=${onClose}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${title}</h2>
      <div class="form-body">${children}</div>
      ${error && html`<div class="form-error" role="alert"><strong>${error.message}</strong>
        ${error.details?.errors?.map((each) => html`<p key=${each.field}><code>${each.field}</code> ${each.message}</p>`)}
        <p>${error.suggestion}</p></div>`}
      <div class="form-buttons">
        <button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="button primary" aria-disabled=${isBusy}>${isBusy ? "Starting…" : submitTitle}</button>
      </div>
    </form>
  </dialog>`;
}

/** A labelled input whose text is a field of a draft. */
export function Field({ draft, name, title, hint, rows, ...others }) {
  const change = (event) => (draft.value = { ...draft.value, [name]: event.target.value });
  const shared = { class: "field", value: draft.value[name] ?? "", onInput: change, placeholder: hint, spellcheck: false, autocomplete: "off" };
  return html`<label class="form-field"><span>${title}</span>
    ${rows ? html`<textarea rows=${rows} ...${shared} ...${others} />` : html`<input ...${shared} ...${others} />`}
  </label>`;
}

export function Check({ draft, name, title }) {
  const change = (event) => (draft.value = { ...draft.value, [name]: event.target.checked });
  return html`<label class="check"><input type="checkbox" checked=${Boolean(draft.value[name])} onChange=${change} /> ${title}</label>`;
}
