/**
 * Loaded before a worker (`--import`): its clock is set when it gets SIGUSR2, an hour back, then an hour ahead, and so on. Only
 * the time of day moves, as when someone sets the clock of a machine: timers and `performance.now` go on as they were.
 */
const HOUR_MS = 3_600_000;
const TrueDate = Date;
let shiftMs = 0;

process.on('SIGUSR2', () => {
  shiftMs = shiftMs < 0 ? HOUR_MS : -HOUR_MS;
});

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args: [], self) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + shiftMs] : args, self),
  get: (target, name, self) =>
    name === 'now' ? () => target.now() + shiftMs : Reflect.get(target, name, self === globalThis.Date ? target : self),
});
