package protocol

import "encoding/json"

// UsageStatusResult is how much of each provider's allowance is used.
type UsageStatusResult struct {
	UpdatedAt int64           `json:"updatedAt"`
	Providers []ProviderUsage `json:"providers"`
}

// ProviderUsage is the use of one provider.
type ProviderUsage struct {
	Provider    string        `json:"provider"`
	DisplayName string        `json:"displayName"`
	Windows     []UsageWindow `json:"windows"`
	Plan        string        `json:"plan,omitempty"`
	Error       string        `json:"error,omitempty"`
}

// UsageWindow is an allowance that renews.
type UsageWindow struct {
	Label       string  `json:"label"`
	UsedPercent float64 `json:"usedPercent"`
	ResetAt     *int64  `json:"resetAt,omitempty"`
}

// UsageCostParams asks for the cost of the last days. Days is a number or the
// text of one; without it 30.
type UsageCostParams struct {
	_    struct{}        `schema:"any"`
	Days json.RawMessage `json:"days,omitempty"`
}

// UsageCostResult is the cost by day and in total.
type UsageCostResult struct {
	UpdatedAt int64      `json:"updatedAt"`
	Days      int        `json:"days"`
	Daily     []DayCost  `json:"daily"`
	Totals    UsageTotal `json:"totals"`
}

// DayCost is the use of one day, written YYYY-MM-DD.
type DayCost struct {
	Date string `json:"date"`
	UsageTotal
}

// UsageTotal adds up tokens and US dollars.
type UsageTotal struct {
	Input              int64   `json:"input"`
	Output             int64   `json:"output"`
	CacheRead          int64   `json:"cacheRead"`
	CacheWrite         int64   `json:"cacheWrite"`
	TotalTokens        int64   `json:"totalTokens"`
	TotalCost          float64 `json:"totalCost"`
	MissingCostEntries int64   `json:"missingCostEntries"`
}
