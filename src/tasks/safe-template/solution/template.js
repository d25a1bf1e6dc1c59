const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' };

const escaped = (text) => text.replace(/[&<>"'`]/g, (character) => ENTITIES[character]);

function render(template, values) {
  return template.replace(/\[\[(raw )?(\w+)\]\]/g, (_, raw, name) => {
    const value = Object.hasOwn(values, name) ? values[name] : null;
    const text = value === null || value === undefined ? '' : String(value);
    return raw ? text : escaped(text);
  });
}

module.exports = { render };
