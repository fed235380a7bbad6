// Acting on what was grounded last: most functions return null, or why the act may not go on.
function still() {                                                // is what was grounded still what the act would hit?
  if (!found || !connected(found.target)) return 'the element is no longer in the page';
  const {point, target, form, submitter, ask} = found;
  if (ENABLED.has(ask.needs) && matches(target, ':disabled')) return 'the element is disabled by now';
  if (point) {
    const h = hit(...point);
    if (!h || actionable(h) !== target) return `${h ? describe(h) : 'nothing'} lies under the pointer by now`;
    const sent = sends(target, h, ask.how);
    if ((sent && sent[0]) !== form) return 'it would send another form by now';
  }
  if (form && digest(formFacts(form, submitter)) !== found.digest) return 'the form has changed since it was looked at';
  return null;
}
function arm(types) {                                             // until disarmed, trusted mouse events reach nothing but the grounded element
  const target = found.target, state = {landed: '', stopped: false};
  const listen = event => {
    if (!event.isTrusted) return;
    const h = event.composedPath()[0];
    if (!nodeOf(h)) return;
    state.landed = describe(actionable(h));
    if (actionable(h) === target) return;
    if (event.type === 'click' && controlOf(climb(h, 'label') || h) === target) return;
    state.stopped = true;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const views = [...scopes()].filter(isDocument).map(viewOf).filter(v => v);
  for (const v of views) for (const type of types) v.addEventListener(type, listen, {capture: true, passive: false});
  guard = {state, off: () => views.forEach(v => types.forEach(type => v.removeEventListener(type, listen, {capture: true})))};
  return null;
}
function disarm() {
  const state = guard?.state ?? {landed: '', stopped: false};
  guard?.off();
  guard = null;
  return state;
}
function take(caret) {                                            // give the grounded element the focus; `caret` all selects its text, end goes behind it
  const why = still();
  if (why) return why;
  const e = found.target;
  if (focused() !== e) focus(e);
  if (e !== bodyOf(document) && focused() !== e && !(html(e) && editable(e) && under(focused(), e))) return 'the element does not take the focus';
  if (caret === 'all') {
    if ('select' in e) e.select(); else view(e).getSelection().selectAllChildren(e);
  } else if (caret === 'end' && 'setSelectionRange' in e) {
    try { e.setSelectionRange(e.value.length, e.value.length); } catch { /* a number or e-mail field has no caret to set */ }
  }
  return null;
}
const valueOf = e => html(e) && editable(e) ? textOf(e) : e.value;
const holds = () => !found || !connected(found.target) ? null : valueOf(found.target) ?? null;
function tell(e) {
  for (const type of ['input', 'change']) e.dispatchEvent(new Event(type, {bubbles: true, composed: type === 'input'}));
}
function setWhole(value) {                                        // for fields that take no typing: dates, colours, ranges
  const e = found.target;
  if (!SET_WHOLE.has(e.type)) return false;
  e.value = value;
  tell(e);
  return true;
}
const optionOf = (select, value) => {
  const options = [...select.options].filter(o => !matches(o, ':disabled'));
  return options.find(o => o.value === value) ?? options.find(o => squash(o.label) === squash(value));
};
function choose(value) {
  const why = still(), select = found?.target, option = !why && optionOf(select, value);
  if (!option) return why ?? 'it has no such option by now';
  focus(select);
  for (const o of [...select.options]) o.selected = o === option;
  tell(select);
  return null;
}
function checkedOf(e) {
  if (tagOf(e) === 'input' && (e.type === 'checkbox' || e.type === 'radio')) return e.checked;
  return climb(e, '[role=checkbox],[role=switch],[role=radio],[role=menuitemcheckbox],[role=menuitemradio]') === e ? attr(e, 'aria-checked') === 'true' : null;
}
const isChecked = () => found && connected(found.target) ? checkedOf(found.target) : null;
function scroll(dx, dy) {                                           // what holds the grounded element, or the middle of the viewport; without any input event
  let e = found?.target ?? hit(innerWidth / 2, innerHeight / 2) ?? rootElement(document);
  for (; e; e = up(e) ?? frameOf(e)) {
    const before = [e.scrollLeft, e.scrollTop], shown = style(e);
    if (e !== rootElement(ownerDocument(e)) && !/auto|scroll/.test(shown.overflowX + shown.overflowY)) continue;
    scrollBy(e, {left: dx, top: dy, behavior: 'instant'});
    if (before[0] !== e.scrollLeft || before[1] !== e.scrollTop) return true;
  }
  return false;
}
function submit() {
  const why = still();
  if (why) return why;
  const {form, submitter} = found;
  if (!form) return 'it would send no form';
  const bad = has(form, 'novalidate') || submitter && has(submitter, 'formnovalidate') ? null : controls(form).find(c => matches(c, ':invalid'));
  if (bad) return `the form is not valid: ${describe(bad)}`;
  if (submitter && matches(submitter, ':disabled')) return 'its submit button is disabled';
  requestSubmit(form, submitter);
  return null;
}

// -- secrets
function secretPlace() {                                          // what a secret's rules are held against, read again right before typing
  const why = still();
  if (why) return {why, kind: '', origin: '', actions: []};
  const e = found.target, form = ownerOf(e), doc = view(e);
  const actions = form ? [attr(form, 'action') || urlOf(ownerDocument(form)), ...controls(form).map(c => attr(c, 'formaction')).filter(a => a)] : [];
  return {why: null, kind: tagOf(e) === 'input' ? e.type : tagOf(e), origin: doc.origin, actions: actions.map(a => absolute(e, a.trim()) ?? '')};
}
function secretHeld(value) {                                      // is it in the field, and nowhere else? Where it is elsewhere it is wiped
  const e = found && connected(found.target) ? found.target : null;
  if (e) secretFields.add(e);
  const others = everywhere('input,textarea').filter(c => c !== e && c.type !== 'file' && c.value.includes(value));
  for (const c of others) c.value = '';
  const ok = !!e && e.value === value && others.length === 0;
  if (!ok && e) e.value = '';
  return ok;
}

globalThis.deskcert = {
  observe, ground, named, scroll, still, arm, disarm, take, holds, setWhole, choose, isChecked, submit, secretPlace, secretHeld,
  element: () => found?.element ?? null,
  under: () => found?.hit ?? null,
  documents: () => [...scopes()].filter(isDocument).length,
  document: i => [...scopes()].filter(isDocument)[i] ?? null,
  exists: css => everywhere(css).length > 0,
  selectorFault: list => list.find(css => { try { queryFragment(new DocumentFragment(), css); return false; } catch { return true; } }) ?? null,
  rest: () => new Promise(done => setTimeout(() => setTimeout(() => done(true)))),
};
