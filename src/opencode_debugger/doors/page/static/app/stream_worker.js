/** A worker that all tabs share: it follows each stream once and passes its events on to every tab that asked. */
import { EventStream } from "./event_stream.js";

/** address -> {stream, ports, state} */
const followed = new Map();

self.addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data }) => {
    if (data.follow) enter(data.follow, port);
    else if (data.leave) leave(data.leave, port);
  });
  port.start();
});

function enter(address, port) {
  const entry = followed.get(address) ?? begin(address);
  entry.ports.add(port);
  if (entry.state) port.postMessage({ address, state: entry.state });
}

function begin(address) {
  const entry = { ports: new Set(), state: null };
  const tell = (message) => entry.ports.forEach((port) => port.postMessage({ address, ...message }));
  entry.stream = new EventStream(address, {
    onEvents: (events) => tell({ events }),
    onState: (state, error) => {
      entry.state = state;
      if (state === "ended") followed.delete(address);
      tell({ state, error });
    },
  });
  followed.set(address, entry);
  entry.stream.open();
  return entry;
}

function leave(address, port) {
  const entry = followed.get(address);
  if (!entry) return;
  entry.ports.delete(port);
  if (entry.ports.size) return;
  entry.stream.close();
  followed.delete(address);
}
