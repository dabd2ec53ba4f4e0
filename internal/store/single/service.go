package single

import (
	"context"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// Service implements listing.Owned.
func (c *Cluster) Service(ctx context.Context, name string, replace bool) (string, error) {
	for {
		list, stamp, err := c.heard.Read(ctx, records.ServiceKey())
		if err != nil {
			return "", err
		}
		kept, err := records.Decode[records.Service](list[0])
		if err != nil || name == "" || kept.Name != "" && !replace {
			return kept.Name, err
		}
		o, err := c.heard.Commit(ctx, kv.Txn{
			Life: stamp.Life, If: []kv.Compare{{Key: records.ServiceKey(), Version: list[0].Version}},
			Put: []kv.Write{records.Put(records.ServiceKey(), records.Service{Name: name})},
		})
		if err != nil || o.Won {
			return name, err
		}
	}
}
