/** Raised by every call of a process that has been "killed": nothing it does has an effect any more. */
export class DeadProcessError extends Error {}

export interface FaultyProcess {
  /** Wraps the async methods of a port: each call passes a step before and after its effect. */
  wrap<T extends object>(name: string, port: T): T;
  /** Steps passed so far. */
  readonly labels: readonly string[];
  /** Resolves when the fault fired; its label. */
  readonly fired: Promise<string>;
  /** Lets a paused process go on. */
  resume(): void;
}

/**
 * A process in the test's own: at step `at` it dies (`kill`: no effect follows, ever) or stands still (`pause`: every
 * call waits until `resume`, then goes on with what it had decided before), like a process that outlives its lock.
 */
export function createFaultyProcess(fault: 'kill' | 'pause' | 'none', at = 0): FaultyProcess {
  const labels: string[] = [];
  let dead = false;
  let gate: Promise<void> | undefined;
  let open = (): void => undefined;
  let announce = (_label: string): void => undefined;
  const fired = new Promise<string>((resolve) => {
    announce = resolve;
  });

  async function step(label: string): Promise<void> {
    labels.push(label);
    if (labels.length === at && fault !== 'none') {
      if (fault === 'kill') dead = true;
      else {
        gate = new Promise((resolve) => {
          open = resolve;
        });
      }
      announce(label);
    }
    if (dead) throw new DeadProcessError(label);
    await gate;
  }

  function wrap<T extends object>(name: string, port: T): T {
    return new Proxy(port, {
      get(target, property, receiver) {
        const value: unknown = Reflect.get(target, property, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const call = () => Reflect.apply(value, target, args) as unknown;
          if (!asynchronous.has(String(property))) return call();
          return (async () => {
            await step(`>${name}.${String(property)}`);
            const result = await call();
            await step(`<${name}.${String(property)}`);
            return result;
          })();
        };
      },
    });
  }

  return {
    wrap,
    labels,
    fired,
    resume() {
      gate = undefined;
      open();
    },
  };
}

/** Methods of the ports that reach the store or the platform. */
const asynchronous = new Set([
  ...['claim', 'read', 'commit', 'settle', 'check', 'liveIntent', 'liveId', 'accept'],
  ...['post', 'edit', 'remove', 'find', 'add', 'request'],
]);
