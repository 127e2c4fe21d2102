/** Matches an amount of money: at most 9 digits before the point and 6 after it; no sign and no exponent. */
export const decimalPattern = "^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$";
