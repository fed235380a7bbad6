// What DeskCert runs in its own isolated world of a page: the page can neither see nor change it, and its builtins are the browser's own.
// walk.js, facts.js, ground.js and act.js make one function scope (world.py). Here: reading the tree, the visible text, geometry, finding.
// Forms and documents are read through prototypes only: their own controls (`<input name=action>`, `<img name=body>`) may hide their properties.
const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
const nodeType = getter(Node, 'nodeType'), ownerDocument = getter(Node, 'ownerDocument'), baseURI = getter(Node, 'baseURI');
const parentElement = getter(Node, 'parentElement'), getRoot = method(Node, 'getRootNode'), textContent = getter(Node, 'textContent');
const childNodes = getter(Node, 'childNodes'), connected = getter(Node, 'isConnected'), order = method(Node, 'compareDocumentPosition');
const attr = method(Element, 'getAttribute'), has = method(Element, 'hasAttribute'), matches = method(Element, 'matches');
const box = method(Element, 'getBoundingClientRect'), boxes = method(Element, 'getClientRects'), reveal = method(Element, 'scrollIntoView');
const shadowOf = getter(Element, 'shadowRoot'), slotOf = getter(Element, 'assignedSlot'), tagOf = getter(Element, 'localName');
const checkVisibility = method(Element, 'checkVisibility'), scrollBy = method(Element, 'scrollBy'), animations = method(Element, 'getAnimations'), children = getter(Element, 'children');
const innerText = getter(HTMLElement, 'innerText'), focus = method(HTMLElement, 'focus'), editable = getter(HTMLElement, 'isContentEditable');
const viewOf = getter(Document, 'defaultView'), bodyOf = getter(Document, 'body'), rootElement = getter(Document, 'documentElement');
const titleOf = getter(Document, 'title'), urlOf = getter(Document, 'URL'), activeOf = getter(Document, 'activeElement');
const activeIn = getter(ShadowRoot, 'activeElement'), queryDocument = method(Document, 'querySelectorAll'), queryFragment = method(DocumentFragment, 'querySelectorAll');
const pointInDocument = method(Document, 'elementFromPoint'), pointInShadow = method(ShadowRoot, 'elementFromPoint');
const formElements = getter(HTMLFormElement, 'elements'), requestSubmit = method(HTMLFormElement, 'requestSubmit');
const inner = getter(HTMLIFrameElement, 'contentDocument'), innerOfFrame = getter(HTMLFrameElement, 'contentDocument');

const FRAMES = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe', 'portal', 'webview']);
const NATIVE = 'a[href],area[href],button,input,select,textarea,label,summary,option';
const LOOKS_ACTIVE = '[onclick],[contenteditable]:not([contenteditable="false"]),[tabindex]:not([tabindex^="-"]),' + ['button', 'link', 'checkbox', 'radio', 'switch', 'tab',
  'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem', 'combobox', 'textbox', 'searchbox', 'slider', 'spinbutton'].map(r => `[role="${r}"]`).join();
const BUTTONS = new Set(['submit', 'image', 'button', 'reset']);
const NOT_TEXT = new Set([...BUTTONS, 'checkbox', 'radio', 'file', 'hidden']);
const SET_WHOLE = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range']);
const secretFields = new WeakSet();
let found = null;                                                 // what was grounded last: {element, target, point, form, submitter, digest}
let guard = null;                                                 // armed while the mouse acts: {target, landed, stopped, off}

// -- walking
const isDocument = node => nodeType(node) === 9;
const all = (root, css) => [...(isDocument(root) ? queryDocument(root, css) : queryFragment(root, css))];
const documentOf = e => {                                         // of a frame of the same origin, else null
  const tag = tagOf(e);
  return tag === 'iframe' ? inner(e) : tag === 'frame' ? innerOfFrame(e) : null;
};
const foreign = e => FRAMES.has(tagOf(e)) && !documentOf(e);
function* scopes(root = document) {                               // the document, its open shadow roots, its frames of the same origin
  yield root;
  for (const e of all(root, '*')) {
    const below = shadowOf(e) || documentOf(e);
    if (below) yield* scopes(below);
  }
}
const hostOf = e => getRoot(e) instanceof ShadowRoot || nodeType(getRoot(e)) === 11 ? getRoot(e).host ?? null : null;
const up = e => slotOf(e) || parentElement(e) || hostOf(e);       // the way an event goes
const climb = (e, css) => { while (e && !matches(e, css)) e = up(e); return e; };
const under = (e, top) => { while (e && e !== top) e = up(e); return !!e; };
const frameOf = e => viewOf(ownerDocument(e)).frameElement;
const squash = text => (text ?? '').replace(/\s+/g, ' ').trim();
const html = e => e && e.namespaceURI === 'http://www.w3.org/1999/xhtml';
const style = e => viewOf(ownerDocument(e)).getComputedStyle(e);
const rendered = e => !!e && (style(e).display === 'contents' ? rendered(up(e)) : checkVisibility(e));
const textOf = e => (html(e) ? innerText(e) : textContent(e)) ?? '';
const visible = e => [...boxes(e)].some(b => b.width > 0 && b.height > 0) && checkVisibility(e, {visibilityProperty: true, contentVisibilityAuto: true});

// -- looking
function scopeText(scope) {
  if (isDocument(scope)) {
    const frame = scope === document ? null : viewOf(scope).frameElement, body = bodyOf(scope) || rootElement(scope);
    return body && (!frame || rendered(frame)) ? textOf(body) : '';
  }
  if (!rendered(scope.host)) return '';
  return [...childNodes(scope)].map(n => nodeType(n) === 3 ? textContent(n).trim() : nodeType(n) === 1 && rendered(n) ? textOf(n) : '').filter(t => t).join('\n');
}
function observe(limit) {
  let text = '';
  for (const scope of scopes()) {
    const more = scopeText(scope);
    if (more) text += (text ? '\n' : '') + more;
    if (text.length > limit) break;
  }
  return {url: location.href, title: titleOf(document), text: text.slice(0, limit), whole: text.length <= limit};
}

// -- geometry, always in the top viewport
function offset(e) {
  let x = 0, y = 0;
  for (let f = frameOf(e); f; f = frameOf(f)) {
    const b = box(f), s = style(f);
    x += b.x + f.clientLeft + parseFloat(s.paddingLeft);
    y += b.y + f.clientTop + parseFloat(s.paddingTop);
  }
  return [x, y];
}
function boxOf(e) {
  const b = box(e), [x, y] = offset(e);
  return {x: b.x + x, y: b.y + y, width: b.width, height: b.height};
}
function centre(e) {
  const b = [...boxes(e)].find(r => r.width > 0 && r.height > 0) || box(e), [x, y] = offset(e);
  return [x + b.x + b.width / 2, y + b.y + b.height / 2];
}
function hit(x, y) {                                              // the innermost element at a point; a frame's own element where the frame is foreign
  let scope = document, e = null;
  for (;;) {
    const next = isDocument(scope) ? pointInDocument(scope, x, y) : pointInShadow(scope, x, y);
    if (!next || next === e || (!isDocument(scope) && getRoot(next) !== scope)) return e;
    e = next;
    const shadow = shadowOf(e), doc = documentOf(e);
    if (!shadow && !doc) return e;
    if (doc) {
      const b = box(e), s = style(e);
      x -= b.x + e.clientLeft + parseFloat(s.paddingLeft);
      y -= b.y + e.clientTop + parseFloat(s.paddingTop);
    }
    scope = shadow || doc;
  }
}
const controlOf = e => tagOf(e) === 'label' && html(e) && e.control || e;
const actionable = e => controlOf(climb(e, NATIVE + ',' + LOOKS_ACTIVE) || e);
const lies = (h, target) => under(h, target) || under(h, climb(target, NATIVE + ',' + LOOKS_ACTIVE) || target) || controlOf(climb(h, 'label') || h) === target;

// -- finding
const clickText = e => tagOf(e) === 'input' && BUTTONS.has(e.type) ? e.value : null;
function everywhere(css) {
  const out = [];
  for (const scope of scopes()) out.push(...all(scope, css));
  return out;
}
function closest(candidates, wanted, namesOf) {                   // equal, else equal but for case, else containing
  wanted = squash(wanted);
  const low = wanted.toLowerCase(), rows = candidates.map(e => [e, namesOf(e).map(squash)]);
  for (const test of [n => n === wanted, n => n.toLowerCase() === low, n => n.toLowerCase().includes(low)]) {
    const hits = rows.filter(([, names]) => names.some(test)).map(([e]) => e);
    if (hits.length) return hits;
  }
  return [];
}
function labelsOf(e) {
  const ids = (attr(e, 'aria-labelledby') ?? '').split(/\s+/).filter(i => i), root = getRoot(e);
  const by = ids.map(i => all(root, '#' + CSS.escape(i))[0]).filter(n => n).map(textContent).join(' ');
  return [...[...(e.labels ?? [])].map(l => labelText(l)), attr(e, 'aria-label') ?? '', by].filter(t => squash(t));
}
const labelText = l => [...childNodes(l)].map(n => nodeType(n) === 3 ? textContent(n) : nodeType(n) === 1 && !matches(n, 'select,textarea,script,style') ? labelText(n) : '').join('');
function byText(wanted) {
  const low = squash(wanted).toLowerCase(), out = [];
  const dig = e => {
    if (matches(e, 'script,style,noscript,template,head')) return false;
    if (!squash(clickText(e) ?? textContent(e)).toLowerCase().includes(low)) return false;
    const below = [...children(e)].map(dig).some(x => x);         // every child is looked into
    if (!below && visible(e)) out.push(e);
    return below || visible(e);
  };
  for (const scope of scopes()) for (const e of isDocument(scope) ? [rootElement(scope)] : childNodes(scope)) if (e && nodeType(e) === 1) dig(e);
  return closest(out, wanted, e => [clickText(e) ?? textOf(e)]);
}
function candidates(target) {
  if (target.selector != null) return everywhere(target.selector);
  if (target.test_id != null) return everywhere(`[data-testid="${CSS.escape(target.test_id)}"]`);
  if (target.text != null) return byText(target.text);
  return closest(everywhere('input,select,textarea,button,meter,output,progress,[aria-label],[aria-labelledby]'), target.label, labelsOf);
}
function only(list) {                                             // the one that is meant: visible ones before hidden ones
  const shown = [...new Set(list)].filter(visible);
  return shown.length ? shown : [...new Set(list)];
}
function focused() {
  let e = activeOf(document);
  for (;;) {
    const shadow = e && shadowOf(e), doc = e && documentOf(e);
    const next = shadow ? activeIn(shadow) : doc ? activeOf(doc) : null;
    if (!next) return e;
    e = next;
  }
}
