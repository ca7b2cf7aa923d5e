/**
 * Cross-process hints (a stop was accepted, a web message has a new version). A hint may be lost or late; the store
 * is the truth, so every reader of a hint also looks on its own clock.
 */
export interface Relay {
  publish(topic: string): Promise<void>;
  /** Returns the function that ends the subscription. */
  subscribe(topic: string, listener: () => void): Promise<() => Promise<void>>;
}
