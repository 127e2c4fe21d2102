/** Starts the pages. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { StoreContext } from "./live/hooks.ts";
import { returnToAddress } from "./live/route.ts";
import { ConsoleStore } from "./live/store.ts";
import { Shell } from "./shell/shell.tsx";

const place = document.getElementById("console");
if (place === null) throw new Error("index.html has no element with the id console");
const store = new ConsoleStore();
returnToAddress();
store.start();
createRoot(place).render(
  <StrictMode>
    <StoreContext value={store}>
      <Shell />
    </StoreContext>
  </StrictMode>,
);
