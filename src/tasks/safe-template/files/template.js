function render(template, values) {
  let page = template;
  for (const name of Object.keys(values)) {
    page = page.replaceAll(`[[${name}]]`, values[name]);
  }
  return page;
}

module.exports = { render };
