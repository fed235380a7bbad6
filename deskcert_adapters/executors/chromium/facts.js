// Facts of an element and of the form that an act would send.
const view = e => viewOf(ownerDocument(e));
const kindOf = e => tagOf(e) === 'input' || tagOf(e) === 'button' ? e.type : tagOf(e);
const absolute = (e, text) => { try { return new URL(text, baseURI(e)).href; } catch { return null; } };
const isSubmit = e => html(e) && (tagOf(e) === 'button' && e.type === 'submit' || tagOf(e) === 'input' && (e.type === 'submit' || e.type === 'image'));
const away = (e, target) => {
  const name = (target ?? attr(all(ownerDocument(e), 'base[target]')[0] ?? e, 'target') ?? '').trim().toLowerCase();
  return !(['', '_self', '_parent', '_top'].includes(name) || all(ownerDocument(e), 'iframe[name]').some(f => attr(f, 'name').toLowerCase() === name));
};
function controls(form) {                                         // in tree order; `elements` leaves out image buttons
  const listed = new Set(formElements(form));
  for (const e of all(getRoot(form), 'input[type=image]')) if (e.form === form) listed.add(e);
  return [...listed].sort((a, b) => order(a, b) & 4 ? -1 : 1);
}
const ownerOf = e => tagOf(e) === 'form' && html(e) ? e : ['button', 'input', 'select', 'textarea', 'output', 'fieldset', 'object', 'option'].includes(tagOf(e)) ? e.form : null;
const firstSubmit = form => controls(form).find(isSubmit) ?? null;
function field(c, submitter) {
  const kind = kindOf(c), name = attr(c, 'name') ?? '', autocomplete = attr(c, 'autocomplete') ?? '';
  const one = (value, of = name) => ({name: of, kind, autocomplete, value});
  if (matches(c, ':disabled') || (isSubmit(c) || BUTTONS.has(kind)) && c !== submitter) return [];
  if (tagOf(c).includes('-')) return [one(null)];                 // it sends what its script sets, under any name
  if (kind === 'image') return ['x', 'y'].map(axis => one(null, name ? `${name}.${axis}` : axis));
  if (!name || ['object', 'output', 'fieldset'].includes(kind) || ['checkbox', 'radio'].includes(kind) && !c.checked) return [];
  if (kind === 'select') return [...c.options].filter(o => o.selected && !matches(o, ':disabled')).map(o => one(o.value));
  if (kind === 'password' || secretFields.has(c)) return [{...one(null), kind: 'password'}];
  if (kind === 'file') return [one(c.files.length ? null : '')];
  return [one(html(c) && 'value' in c ? c.value : null)];
}
function formFacts(form, submitter) {
  const of = (theirs, mine) => (submitter && attr(submitter, theirs)) ?? attr(form, mine);
  const method = (of('formmethod', 'method') ?? '').trim().toLowerCase(), enctype = (of('formenctype', 'enctype') ?? '').trim().toLowerCase();
  if (method === 'dialog') return null;
  const action = (of('formaction', 'action') ?? '').trim();
  return {
    action: action === '' ? urlOf(ownerDocument(form)) : absolute(form, action), method: method === 'post' ? 'POST' : 'GET',
    enctype: ['multipart/form-data', 'text/plain'].includes(enctype) ? enctype : 'application/x-www-form-urlencoded',
    new_window: away(form, of('formtarget', 'target')), fields: controls(form).flatMap(c => field(c, submitter)),
  };
}
function sends(e, h, how) {                                       // [form, submitter] that the act would send, or null
  if (how === 'submit') {
    const form = ownerOf(e) ?? climb(e, 'form'), submitter = form && (isSubmit(e) && e.form === form ? e : firstSubmit(form));
    return form && [form, submitter];
  }
  if (how === 'enter' && tagOf(e) === 'input' && !BUTTONS.has(e.type) && e.form) {
    const button = firstSubmit(e.form);
    return button && matches(button, ':disabled') ? null : [e.form, button];
  }
  if (how !== 'click' && how !== 'enter' && how !== 'space') return null;
  const native = climb(h, NATIVE), button = native && controlOf(native);
  return button && isSubmit(button) && button.form && !matches(button, ':disabled') ? [button.form, button] : null;
}
const KEPT = ['id', 'name', 'class', 'type', 'title', 'aria-label', 'data-testid', 'formaction'];
function facts(e, h, sent, selectors) {
  const link = climb(h, 'a[href],area[href]'), attributes = {}, kept = BUTTONS.has(kindOf(e)) ? [...KEPT, 'value'] : KEPT;
  for (const name of kept) if (has(e, name)) attributes[name] = attr(e, name).slice(0, 500);
  return {
    tag: tagOf(e), text: squash(clickText(e) ?? (tagOf(e) === 'select' ? '' : textOf(e))).slice(0, 200),
    input_type: tagOf(e) === 'input' || tagOf(e) === 'button' ? e.type : '', autocomplete: attr(e, 'autocomplete') ?? '',
    href: link && absolute(link, attr(link, 'href').trim()), has_href: !!link, download: !!link && has(link, 'download'),
    new_window: !!link && away(link, attr(link, 'target')), submits: !!sent, origin: view(e).origin, location: view(e).location.href, box: boxOf(e),
    selectors: selectors.filter(s => climb(h, s) || climb(e, s)), attributes,
  };
}
const describe = e => {
  const id = attr(e, 'id'), name = squash(clickText(e) ?? attr(e, 'aria-label') ?? (matches(e, 'input,textarea,select') ? '' : textOf(e))).slice(0, 60);
  return tagOf(e) + (id ? '#' + id : '') + (name ? ` "${name}"` : '');
};
const missing = (kind, message) => ({kind, message, final: kind === 'ambiguous' || NEVER.has(message)});
const NEVER = new Set(['it takes no text', 'it is no select element', 'it cannot be checked', 'it belongs to no form']);   // waiting does not help
// What bears a name: the proof that a target was not there, or that another control was (deskcert_core/perception.py).
const CONTROL = NATIVE + ',' + LOOKS_ACTIVE, NAMED = CONTROL + ',[aria-label],[aria-labelledby],[title],[alt],[placeholder]';
const PICTURES = 'img,picture,svg,canvas,video,object,embed,[role="img"]';
const namesOf = e => [clickText(e) ?? (matches(e, 'input,textarea,select') ? '' : textOf(e)), ...labelsOf(e), ...['title', 'alt', 'placeholder'].map(n => attr(e, n))].map(squash).filter(n => n);
const shows = e => visible(e) && (PICTURE_URL.test(style(e).backgroundImage) || tagOf(e).includes('-') && !shadowOf(e));
const PICTURE_URL = /url\(|image\(/;
function named(controlsOnly, most, longest) {                     // all_named: no picture, foreign frame, custom element or nameless control is shown besides
  const found = everywhere(controlsOnly ? CONTROL : NAMED), lists = found.map(e => [e, namesOf(e)]);
  const names = [...new Set(lists.flatMap(([, list]) => list.map(n => n.slice(0, longest))))];
  const whole = () => names.length <= most && !names.some(n => n.length >= longest) && lists.every(([e, list]) => list.length || !visible(e))
    && !everywhere('*').some(e => foreign(e) || matches(e, PICTURES) && visible(e) || shows(e));
  return {names: names.slice(0, most), all_named: !controlsOnly && whole()};
}
