import type { Reader } from './reader-fixture.js';

/** Plays a scene for each step there is; gives how many there were. */
export async function atEachStep(scene: (at: number) => Promise<{ steps: readonly string[] }>): Promise<number> {
  const { steps } = await scene(0);
  const points = Array.from({ length: steps.length }, (_, index) => index + 1);
  const lanes = Array.from({ length: 6 }, async () => {
    for (let at = points.shift(); at !== undefined; at = points.shift()) await scene(at);
  });
  await Promise.all(lanes);
  return steps.length;
}

/** Wakes the reader up as long as there is something to do, as queue and sweeper would. */
export async function settle(reader: Reader): Promise<void> {
  for (let claims = 0; claims < 5 && (await reader.store.summary(reader.key))?.busy; claims += 1) await reader.run();
}

/** The texts that hold this word. */
export function naming(texts: readonly string[], word: string): readonly string[] {
  return texts.filter((text) => text.includes(word));
}
