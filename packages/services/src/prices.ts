/** Entry for programs that need prices and bills, without the tables of the services. */
export { compositionType } from "./composition-type.ts";
export {
  addedData,
  type Bill,
  type BilledBackups,
  type BilledData,
  type BillLine,
  billOf,
  type DoubtfulBackup,
  type Period,
  type Recorded,
} from "./prices/bill.ts";
export { type IdleDatabase, idleDatabasesOf, type IdleReport, type IdleSources } from "./prices/idle.ts";
export type { DamagedLedger } from "./prices/ledger-fault.ts";
export {
  type BudgetAmounts,
  type BudgetState,
  budgetSums,
  nearPercent,
  budgetStateOf,
  type TenantSums,
} from "./prices/budget.ts";
export { exactMoney, hoursOfMonth, shownGibMonths, shownMoney } from "./prices/money.ts";
export {
  monthlyMoney,
  monthlyPrice,
  type MonthlyPrice,
  monthText,
  type Money,
} from "./prices/monthly-price.ts";
export { offeredNames, type OfferedNames, type OfferedPrice, offeredPrices } from "./prices/offered-plans.ts";
export { pricesText } from "./prices/price-words.ts";
export { shownBytes } from "./prices/shown-bytes.ts";
export { backupCostOf, costOf, type Price } from "./prices/price.ts";
export {
  type PlanPrice,
  PriceBook,
  priceListKey,
  priceListName,
  pricesNamespace,
  pricesAnnotation,
  readPriceList,
} from "./prices/price-list.ts";
export { priceBookOf, PriceError, pricesIn, pricesOfConfigMap } from "./prices/price-text.ts";
