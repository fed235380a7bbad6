// From what an agent means to what its act would hit.
function locate(ask, given) {                                     // the element that is meant, or {kind, message}
  const t = ask.target;
  if (!t) {
    if (ask.needs === 'form') {
      const e = focused(), forms = everywhere('form');
      return e && (ownerOf(e) || climb(e, 'form')) ? e : forms.length === 1 ? forms[0]
        : missing(forms.length ? 'ambiguous' : 'missing', `${forms.length} forms on the page`);
    }
    return focused() ?? bodyOf(document) ?? rootElement(document);
  }
  if (t.x != null) return hit(t.x, t.y) ?? missing('missing', 'nothing lies at this point of the viewport');
  let list;
  try { list = only(given ?? candidates(t)); } catch (error) { return missing('unusable', `not a selector: ${error.message}`); }
  list = [...new Map(list.map(e => [controlOf(e), e])).values()];
  if (list.length > 1) return missing('ambiguous', `${list.length} elements match`);
  return list[0] ?? missing('missing', 'no element matches');
}
const ENABLED = new Set(['on', 'text', 'select', 'check']);
function unusable(e, ask) {
  if (ask.needs === 'text' && !(matches(e, 'textarea') || tagOf(e) === 'input' && !NOT_TEXT.has(e.type) || html(e) && editable(e))) return 'it takes no text';
  if (ask.needs === 'text' && matches(e, ':read-only') && !SET_WHOLE.has(e.type)) return 'it is read-only';
  if (ask.needs === 'select') {
    if (tagOf(e) !== 'select') return 'it is no select element';
    if (!optionOf(e, ask.value)) return 'it has no such option';
  }
  if (ask.needs === 'check' && checkedOf(e) === null) return 'it cannot be checked';
  if (ask.needs === 'form' && !(ownerOf(e) || climb(e, 'form'))) return 'it belongs to no form';
  if (ENABLED.has(ask.needs) && matches(e, ':disabled')) return 'it is disabled';
  return null;
}
function aim(ask, target) {                                       // where the pointer goes and what it would hit there
  if (ask.target?.x != null) return [[ask.target.x, ask.target.y], target];
  const shown = visible(target) ? target : [...(target.labels ?? [])].find(visible) ?? target;
  let point = centre(shown), h = hit(...point);
  if (!h || !lies(h, target)) {
    reveal(shown, {block: 'center', inline: 'center', behavior: 'instant'});
    for (let f = frameOf(shown); f; f = frameOf(f)) reveal(f, {block: 'nearest', inline: 'nearest', behavior: 'instant'});
    point = centre(shown), h = hit(...point);
  }
  return [point, h];
}
const moving = e => { for (; e; e = up(e)) if (animations(e).some(a => a.playState === 'running' && a.effect?.getComputedTiming().endTime !== Infinity)) return true; return false; };
const digest = form => JSON.stringify(form);
function ground(ask, ...given) {
  disarm();
  found = null;
  const target = locate(ask, ask.given ? given : null);
  if (!nodeOf(target)) return {problem: target};
  if (foreign(target) && !ask.pointer) return {foreign: describe(target)};
  let point = null, h = target, problem = null;
  if (ask.pointer) {
    if (ask.target?.x == null && !visible(target) && ![...(target.labels ?? [])].some(visible)) return {problem: missing('unusable', 'it is there but not visible')};
    [point, h] = aim(ask, target);
    if (!h) return {problem: missing('unusable', 'it lies outside the viewport and cannot be scrolled to')};
    if (!lies(h, target)) problem = missing('covered', `${describe(h)} lies on it`);
    else if (foreign(h)) {                                          // only its frame is known; a click may still be granted
      found = {element: h, hit: h, target: actionable(h), point, form: null, submitter: null, digest: digest(null), ask};
      return {foreign: describe(h), point};
    }
  } else if (ask.target && ask.needs !== 'form' && !visible(target)) return {problem: missing('unusable', 'it is there but not visible')};
  const on = problem ? target : h, e = ask.needs === 'form' ? target : ask.pointer ? actionable(on) : controlOf(target);
  const why = problem ? null : unusable(e, ask);
  if (why) return {problem: missing(why === 'it has no such option' ? 'missing' : 'unusable', why)};
  const sent = sends(e, on, ask.how), form = sent && formFacts(...sent), shown = ask.needs === 'form' ? sent[1] ?? sent[0] : e;
  found = {element: shown, hit: on, target: e, point, form: sent && sent[0], submitter: sent && sent[1], digest: digest(form), ask};
  const about = {...facts(shown, ask.needs === 'form' ? shown : on, form, ask.selectors), covered_by: problem ? describe(h) : null};
  return {problem, point, element: about, form, moving: !problem && ask.pointer && moving(e)};
}
const nodeOf = x => { try { return nodeType(x) === 1; } catch { return false; } };
