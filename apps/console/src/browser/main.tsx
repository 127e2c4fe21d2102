/** Starts the pages. */
import { StrictMode } from "react";
import { createRoot(place).render(
  <StrictMode>
    <StoreContext value={store}>
      <Shell />
    </StoreContext>
  </StrictMode>,
);
