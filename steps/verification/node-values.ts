/** How values cross between the process of the tests and that of the program: the rest of the class `Peer`. */

export const PEER_VALUES = String.raw`
  encode(value, seen = new Map(), list = null) {
    switch (typeof value) {
      case 'undefined':
        return { u: 1 };
      case 'boolean':
      case 'string':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : { n: Object.is(value, -0) ? '-0' : String(value) };
      case 'bigint':
        return { b: String(value) };
      case 'symbol': {
        const known = SYMBOLS.find((name) => Symbol[name] === value);
        if (known !== undefined) return { s: known };
        if (this.symbols.has(value)) return { w: this.symbols.get(value) };
        const key = Symbol.keyFor(value);
        return key === undefined ? { h: this.number(value), y: String(value.description) } : { k: key };
      }
    }
    if (value === null) return null;
    if (this.theirs.has(value)) return { w: this.theirs.get(value) };
    if (this.lent.has(value)) return this.lent.get(value);
    if (seen.has(value)) return { t: seen.get(value) };
    const known = this.nameOf(value);
    if (known !== undefined) return { g: known };
    if (types.isPromise(value)) return this.promise(value);
    if (!types.isProxy(value)) {
      const copied = this.contents(value, seen, list);
      if (copied !== undefined) return copied;
    }
    return this.handle(value);
  }

  handle(value) {
    const isFunction = typeof value === 'function';
    const isIterator =
      !isFunction && !types.isProxy(value) && (isOf(value, ITERATOR) ? 1 : isOf(value, ASYNC_ITERATOR) ? 2 : 0);
    return { h: this.number(value), ...(isFunction && { f: 1 }), ...(isIterator && { i: isIterator }) };
  }

  promise(value) {
    const p = this.number(value);
    if (!this.promises.has(value)) {
      this.promises.set(value, true);
      value.then(
        (found) => this.say({ p, v: this.encode(found) }),
        (error) => this.say({ p, x: this.encode(error) }),
      );
    }
    return { P: p };
  }

  /** Of plain data what it holds; undefined: it is none. */
  contents(value, seen, list) {
    const proto = protoOf(value);
    const kind = this.kindOf(value, proto);
    if (kind === null) return undefined;
    if (kind === 'D') return { D: value.getTime() === value.getTime() ? value.getTime() : null };
    if (kind === 'R') return { R: [value.source, value.flags] };
    if (kind === 'U') return { U: value.href };
    seen.set(value, seen.size);
    list?.push(value);
    if (kind === 'E') return this.errorOf(value, seen, list);
    return this.inside(kind, value, (one) => this.encode(one, seen, list));
  }

  kindOf(value, proto) {
    if (Array.isArray(value))
      return proto === Array.prototype &&
        Reflect.ownKeys(value).length === Object.keys(value).length + 1 &&
        !Object.keys(value).some((key) => !/^\d+$/.test(key))
        ? 'A'
        : null;
    if (types.isDate(value)) return proto === Date.prototype ? 'D' : null;
    if (types.isRegExp(value)) return proto === RegExp.prototype ? 'R' : null;
    if (types.isMap(value)) return proto === Map.prototype ? 'M' : null;
    if (types.isSet(value)) return proto === Set.prototype ? 'S' : null;
    if (types.isNativeError(value)) return 'E';
    if (Buffer.isBuffer(value)) return proto === Buffer.prototype ? 'B' : null;
    if (types.isTypedArray(value)) return TYPED.some((name) => proto === globalThis[name].prototype) ? 'B' : null;
    if (types.isArrayBuffer(value)) return proto === ArrayBuffer.prototype ? 'B' : null;
    if (typeof URL === 'function' && proto === URL.prototype) return 'U';
    if (typeof value !== 'object' || (proto !== Object.prototype && proto !== null)) return null;
    for (const key of Reflect.ownKeys(value)) {
      const { enumerable, value: held } = Reflect.getOwnPropertyDescriptor(value, key);
      if (
        typeof key === 'symbol' ||
        !enumerable ||
        typeof held === 'function' ||
        !('value' in Reflect.getOwnPropertyDescriptor(value, key))
      )
        return null;
    }
    return 'O';
  }

  /** What a container holds, each as it is told. */
  inside(kind, value, told) {
    switch (kind) {
      case 'A':
        return { A: Array.from(value, (one, at) => (at in value ? told(one) : { H: 1 })) };
      case 'M':
        return { M: [...Map.prototype.entries.call(value)].map(([key, one]) => [told(key), told(one)]) };
      case 'S':
        return { S: [...Set.prototype.values.call(value)].map(told) };
      case 'O':
        return {
          O: Object.keys(value).map((key) => [key, told(value[key])]),
          ...(protoOf(value) === null && { z: 1 }),
        };
      case 'B': {
        const bytes = types.isArrayBuffer(value)
          ? Buffer.from(value)
          : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        const name = Buffer.isBuffer(value)
          ? 'Buffer'
          : types.isArrayBuffer(value)
            ? 'ArrayBuffer'
            : value[Symbol.toStringTag];
        return { B: [name, bytes.toString('base64')] };
      }
    }
    return undefined;
  }

  /** The contents of a container that was lent, to find out whether it changed. */
  shallow(value, seen) {
    const kind = this.kindOf(value, protoOf(value)) ?? '';
    return this.inside(kind, value, (one) => this.encode(one, seen)) ?? null;
  }

  errorOf(error, seen, list) {
    const base =
      ERRORS.findLast(
        (name) => isOf(error, globalThis[name].prototype) || protoOf(error) === globalThis[name].prototype,
      ) ?? 'Error';
    const own = protoOf(error) !== globalThis[base].prototype;
    const kind = own ? safely(() => error.constructor) : undefined;
    const props = Object.keys(error)
      .filter((key) => key !== 'stack' && key !== 'message')
      .slice(0, 100);
    return {
      E: [base, String(safely(() => error.message) ?? ''), String(safely(() => error.name) ?? base)],
      h: this.number(error),
      c: typeof kind === 'function' ? this.encode(kind) : null,
      o: props.map((key) => [
        key,
        this.encode(
          safely(() => error[key]),
          seen,
          list,
        ),
      ]),
      ...('cause' in error && {
        a: this.encode(
          safely(() => error.cause),
          seen,
          list,
        ),
      }),
      ...(base === 'AggregateError' && {
        g: 0,
        all: this.encode(
          safely(() => [...error.errors]),
          seen,
          list,
        ),
      }),
    };
  }

  decode(said, made = []) {
    if (said === null || typeof said !== 'object') return said;
    if ('E' in said) return this.error(said, made);
    if ('u' in said) return undefined;
    if ('n' in said) return Number(said.n);
    if ('b' in said) return BigInt(said.b);
    if ('s' in said) return Symbol[said.s];
    if ('k' in said) return Symbol.for(said.k);
    if ('w' in said) return this.objects.get(said.w);
    if ('l' in said) return this.sent.get(said.l[0])?.[said.l[1]];
    if ('t' in said) return made[said.t];
    if ('g' in said) return this.named(said.g);
    if ('P' in said) return this.awaited(said.P);
    if ('D' in said) return new Date(said.D ?? Number.NaN);
    if ('R' in said) return new RegExp(...said.R);
    if ('U' in said) return new URL(said.U);
    if ('h' in said) return this.stand(said);
    const [empty] =
      'A' in said
        ? [[]]
        : 'M' in said
          ? [new Map()]
          : 'S' in said
            ? [new Set()]
            : 'B' in said
              ? [this.bytes(said.B)]
              : [said.z ? Object.create(null) : {}];
    made.push(empty);
    return 'B' in said ? empty : this.fill(empty, said, made);
  }

  bytes([name, text]) {
    const bytes = Buffer.from(text, 'base64');
    if (name === 'Buffer') return bytes;
    const own = new Uint8Array(bytes).buffer;
    return name === 'ArrayBuffer' ? own : new (TYPED.includes(name) ? globalThis[name] : Uint8Array)(own);
  }

  fill(one, said, made) {
    if ('A' in said) {
      one.length = 0;
      for (const [at, held] of said.A.entries())
        if (held === null || typeof held !== 'object' || !('H' in held)) one[at] = this.decode(held, made);
      one.length = said.A.length;
    } else if ('M' in said) {
      one.clear();
      for (const [key, held] of said.M) one.set(this.decode(key, made), this.decode(held, made));
    } else if ('S' in said) {
      one.clear();
      for (const held of said.S) one.add(this.decode(held, made));
    } else if ('O' in said) {
      for (const key of Object.keys(one)) delete one[key];
      for (const [key, held] of said.O)
        Object.defineProperty(one, key, {
          value: this.decode(held, made),
          writable: true,
          enumerable: true,
          configurable: true,
        });
    }
    return one;
  }

  /** Makes a container what it became on the other side. */
  change(one, said, made) {
    if (one === undefined || said === null) return;
    if (!('B' in said)) return void safely(() => this.fill(one, said, made));
    const bytes = Buffer.from(said.B[1], 'base64');
    const target = types.isArrayBuffer(one)
      ? Buffer.from(one)
      : Buffer.from(one.buffer, one.byteOffset, one.byteLength);
    bytes.copy(target);
  }

  error(said, made) {
    const known = this.stands.get(said.h);
    if (known !== undefined) {
      made.push(known);
      return known;
    }
    const [base, message, name] = said.E;
    const Base = ERRORS.includes(base) ? globalThis[base] : Error;
    const error = Base === AggregateError ? new Base([], message) : new Base(message);
    made.push(error);
    if (said.all !== undefined) error.errors = this.decode(said.all, made);
    if ('a' in said)
      Object.defineProperty(error, 'cause', { value: this.decode(said.a, made), writable: true, configurable: true });
    if (said.c !== null) {
      const proto = this.protoFor(this.decode(said.c), Base, name);
      Object.setPrototypeOf(error, proto);
    } else if (name !== error.name)
      Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true });
    for (const [key, held] of said.o)
      Object.defineProperty(error, key, {
        value: this.decode(held, made),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    this.stands.set(said.h, error);
    this.theirs.set(error, said.h);
    return error;
  }

  protoFor(kind, Base, name) {
    this.protos ??= new WeakMap();
    let found = this.protos.get(kind);
    if (found === undefined) {
      found = Object.create(Base.prototype, {
        constructor: { value: kind, writable: true, configurable: true },
        name: { value: name, writable: true, configurable: true },
      });
      this.protos.set(kind, found);
    }
    return found;
  }

  awaited(p) {
    const known = this.stands.get(p);
    if (known !== undefined) return known;
    const promise = new Promise((resolve, reject) => this.waiting.set(p, { resolve, reject }));
    this.stands.set(p, promise);
    this.theirs.set(promise, p);
    return promise;
  }

  stand({ h, f, i, y }) {
    const known = this.stands.get(h);
    if (known !== undefined) return known;
    const made = y !== undefined ? Symbol(y) : i !== undefined ? this.iterator(h, i) : this.proxy(h, f === 1);
    this.stands.set(h, made);
    if (typeof made === 'symbol') this.symbols.set(made, h);
    else this.theirs.set(made, h);
    return made;
  }

  /** An iterator may lack the methods that end it. */
  step(target, name, args) {
    if (name === 'next' || target[name] !== undefined) return target[name](...args);
    if (name === 'throw') throw args[0];
    return { value: args[0], done: true };
  }

  iterator(h, kind) {
    const self = () => this.stands.get(h);
    const call =
      (name) =>
      (...args) =>
        this.ask('step', self(), name, args);
    return {
      next: call('next'),
      return: call('return'),
      throw: call('throw'),
      [kind === 1 ? Symbol.iterator : Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  proxy(h, isFunction) {
    const self = () => this.stands.get(h);
    const ask = (op, ...args) => this.ask(op, self(), ...args);
    const target = isFunction ? function () {} : {};
    const isOne = (value) =>
      ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
      this.theirs.has(value) &&
      ask('instance', value) === true;
    return new Proxy(target, {
      get: (_target, key) => {
        if (key === Symbol.hasInstance && isFunction) return isOne;
        return typeof key === 'symbol' && String(key) === 'Symbol(nodejs.util.inspect.custom)'
          ? undefined
          : ask('get', key);
      },
      set: (_target, key, value) => ask('set', key, value) === true,
      has: (_target, key) => ask('has', key) === true,
      deleteProperty: (_target, key) => ask('delete', key) === true,
      ownKeys: () => [
        ...new Set([
          ...(isFunction ? ['prototype'] : []),
          ...ask('keys').filter((key) => typeof key === 'string' || typeof key === 'symbol'),
        ]),
      ],
      getOwnPropertyDescriptor: (of, key) => {
        if (isFunction && key === 'prototype') return Reflect.getOwnPropertyDescriptor(of, key);
        const found = ask('own', key);
        return found === undefined
          ? undefined
          : { value: found[0], enumerable: found[1] === true, writable: true, configurable: true };
      },
      defineProperty: (_target, key, { value }) => ask('set', key, value) === true,
      getPrototypeOf: () => {
        const found = ask('proto');
        return typeof found === 'string' ? this.protoBy(found) : found;
      },
      isExtensible: () => true,
      preventExtensions: () => false,
      apply: (_target, self, args) => ask('call', self, args),
      construct: (_target, args, made) => {
        if (made !== self()) throw new TypeError('a class of the program under test cannot have subclasses here');
        return ask('new', args);
      },
    });
  }
}
`;
