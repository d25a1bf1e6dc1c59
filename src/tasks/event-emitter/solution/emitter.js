class Emitter {
  #entries = new Map();

  on(name, listener) {
    return this.#add(name, { listener, once: false, gone: false });
  }

  once(name, listener) {
    return this.#add(name, { listener, once: true, gone: false });
  }

  off(name, listener) {
    const entry = (this.#entries.get(name) ?? []).findLast((one) => one.listener === listener);
    if (entry !== undefined) this.#remove(name, entry);
    return entry !== undefined;
  }

  emit(name, ...values) {
    let called = 0;
    const errors = [];
    for (const entry of [...(this.#entries.get(name) ?? [])]) {
      if (entry.gone) continue;
      if (entry.once) this.#remove(name, entry);
      called += 1;
      try {
        entry.listener(...values);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
    return called;
  }

  #add(name, entry) {
    this.#entries.set(name, [...(this.#entries.get(name) ?? []), entry]);
    return () => this.#remove(name, entry);
  }

  #remove(name, entry) {
    entry.gone = true;
    this.#entries.set(name, (this.#entries.get(name) ?? []).filter((one) => one !== entry));
  }
}

module.exports = { Emitter };
