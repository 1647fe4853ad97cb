//! Accessibility: names, table semantics, keys, contrast, narrow windows.

use super::{Page, open};
use serde_json::json;

#[test]
fn everything_has_a_name_and_tables_have_headings() {
    let Some(mut page) = open("") else { return };
    page.eval("for (const one of document.querySelectorAll('details')) one.open = true");
    page.eval("document.querySelector('#body .open').click()");
    // What the browser tells a screen reader.
    let tree = page.call("Accessibility.getFullAXTree", json!({}));
    let controls = [
        "button",
        "combobox",
        "searchbox",
        "textbox",
        "checkbox",
        "link",
        "table",
        "image",
        "region",
        "group",
    ];
    let mut named = 0;
    for node in tree["nodes"].as_array().unwrap() {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if node["ignored"] == json!(true) || !controls.contains(&role) {
            continue;
        }
        let name = node["name"]["value"].as_str().unwrap_or_default();
        assert!(!name.trim().is_empty() || role == "group", "a {role} without a name: {node}");
        named += 1;
    }
    assert!(named > 200, "{named}");
    let without =
        page.texts("[...document.querySelectorAll('th:not([scope])')].map((one) => one.outerHTML)");
    assert!(without.is_empty(), "{without:?}");
    let odd = page.number("[...document.querySelectorAll('#head th:not([aria-sort])')].length");
    assert_eq!(odd, 0.0);
    let rows = "[...document.querySelectorAll('#body tr.cell')]";
    assert_eq!(
        page.eval(&format!("{rows}.every((row) => row.cells[0].tagName === 'TH')")),
        json!(true)
    );
    assert_eq!(page.text("document.getElementById('count').getAttribute('aria-live')"), "polite");
    assert_eq!(page.text("document.documentElement.lang"), "en");
    page.assert_clean();
}

#[test]
fn keys_reach_everything() {
    let Some(mut page) = open("") else { return };
    let mut seen = Vec::new();
    let place = "(() => { const one = document.activeElement; \
                 return one.closest('#body') ? 'body' : one.closest('#head') ? one.dataset.sort : one.id || one.tagName; })()";
    while seen.last().is_none_or(|last| last != "body") {
        assert!(seen.len() < 100, "{seen:?}");
        page.press("Tab");
        seen.push(page.text(place));
        // The focus can be seen.
        assert_ne!(page.text("getComputedStyle(document.activeElement).outlineStyle"), "none");
    }
    for id in [
        "theme", "case", "guest", "threads", "q", "clean", "refused", "reset", "csv", "file",
        "median",
    ] {
        assert!(seen.iter().any(|own| own == id), "{id} is not in {seen:?}");
    }
    // The table is left with two steps, not with two for each row.
    page.press("Tab");
    page.press("Tab");
    assert_ne!(page.text(place), "body");
    page.eval("document.querySelector('.skip').click()");
    assert_eq!(page.text("document.activeElement.id"), "cells");
    page.assert_clean();
}

/// The least contrast of a text with what lies behind it, and that text.
const CONTRAST: &str = "(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const behind = (node) => { for (let one = node; one; one = one.parentElement) {
    const c = parse(getComputedStyle(one).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c.slice(0, 3); } return [255, 255, 255]; };
  let worst = [99, ''];
  const note = (ratio, text) => { if (ratio < worst[0]) worst = [ratio, text]; };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const [text, node] = [walk.currentNode.data.trim(), walk.currentNode.parentElement];
    if (!text || !node.checkVisibility() || ['SCRIPT', 'STYLE'].includes(node.tagName)) continue;
    const colour = parse(getComputedStyle(node).color);
    note(contrast(colour, behind(node)), text);
    if (node.closest('td.ratio')) for (const bar of document.querySelectorAll('.ratio i')) {
      note(contrast(colour, parse(getComputedStyle(bar).backgroundColor)), text); }
  }
  return worst;
})()";

#[test]
fn texts_have_contrast_in_both_schemes() {
    let Some(mut page) = open("#refused=1") else { return };
    // Everything that has a colour of its own.
    page.eval("document.querySelectorAll('#body .pick')[20].click()");
    page.eval("document.querySelectorAll('#body .open')[2].click()");
    page.eval("document.getElementById('message').hidden = false");
    page.eval("document.getElementById('message').textContent = 'a message'");
    assert!(page.number("document.querySelectorAll('.ratio i.fast').length") > 0.0);
    let check = |page: &mut Page, back: &str| {
        let worst = page.eval(CONTRAST);
        assert!(worst[0].as_f64().unwrap() >= 4.5, "{worst}");
        assert_eq!(page.text("getComputedStyle(document.body).backgroundColor"), back);
    };
    let (white, black) = ("rgb(255, 255, 255)", "rgb(20, 23, 28)");
    page.appear(1280, 900, "light");
    check(&mut page, white);
    page.appear(1280, 900, "dark");
    check(&mut page, black);
    // The switch wins over what the system prefers, and it is kept.
    super::set(&mut page, "theme", "light");
    check(&mut page, white);
    page.appear(1280, 900, "light");
    super::set(&mut page, "theme", "dark");
    check(&mut page, black);
    page.go(&super::address(""));
    assert_eq!(page.text("document.getElementById('theme').value"), "dark");
    page.assert_clean();
}

#[test]
fn a_narrow_window_has_no_need_to_scroll_sideways() {
    let Some(mut page) = open("") else { return };
    for width in [1280, 800, 400] {
        page.appear(width, 900, "light");
        page.eval("document.querySelector('#body .open').click()");
        let wide = page.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} of {width}");
        // The table is wider than its frame nowhere, with the columns that are shown at first.
        let over = "(() => { const one = document.getElementById('cells'); return one.scrollWidth - one.clientWidth; })()";
        assert!(page.number(over) <= 0.0, "at {width}");
    }
    page.assert_clean();
}

/// Writes pictures of the page to the folder in `TOUCHSTONE_LOOK` (`make pictures`).
#[test]
#[ignore = "for looking at the page"]
fn pictures() {
    let folder = std::path::PathBuf::from(std::env::var_os("TOUCHSTONE_LOOK").unwrap());
    let Some(mut page) = open("") else { return };
    for (width, height) in [(1280, 740), (400, 1100)] {
        for scheme in ["light", "dark"] {
            page.appear(width, height, scheme);
            page.eval("document.getElementById('matrix').scrollIntoView()");
            let shot = page.call("Page.captureScreenshot", json!({"format": "png"}));
            let bytes = base64_of(shot["data"].as_str().unwrap());
            std::fs::write(folder.join(format!("page-{width}-{scheme}.png")), bytes).unwrap();
        }
    }
}

/// The bytes that a text in base64 stands for.
fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}
