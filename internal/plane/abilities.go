package plane

// Ability is work that a plane can do with its [Access].
type Ability string

// The abilities. Every plane schedules environments, and previews pull requests.
const (
	AsksSchedulers      Ability = "asks external schedulers"
	Records             Ability = "records what is published"
	Promotes            Ability = "promotes"
	Verifies            Ability = "runs verifications"
	Publishes           Ability = "publishes versions of the platform"
	Delivers            Ability = "delivers applications, and checks who edits their values"
	PublishesDeliveries Ability = "publishes versions of applications"
	Scans               Ability = "scans images, and checks signatures"
	LooksUpDigests      Ability = "looks up digests of images"
	PlansForks          Ability = "plans pull requests from forks"
	ReadsReviews        Ability = "counts reviews on the forge"
	VouchesForUsers     Ability = "knows who set a value on a page"
)

// Abilities lists what the plane can do, in a fixed order.
func (p *Plane) Abilities() []Ability {
	promotion, applications := p.Promotion, p.Applications
	delivers := promotion != nil && applications != nil
	var all []Ability
	for _, a := range []struct {
		ability Ability
		has     bool
	}{
		{AsksSchedulers, p.Schedulers != nil},
		{Records, promotion != nil},
		{Promotes, promotion != nil},
		{Verifies, promotion != nil && promotion.Promoter.Checks != nil},
		{ReadsReviews, promotion != nil && promotion.Promoter.People != nil},
		{Publishes, p.Publisher != nil},
		{PlansForks, p.Forks},
		{VouchesForUsers, p.Vouched != nil},
		{Delivers, delivers},
		{PublishesDeliveries, delivers && applications.Publisher != nil},
		{Scans, delivers && applications.Scanner != nil},
		{LooksUpDigests, delivers && applications.Images != nil},
	} {
		if a.has {
			all = append(all, a.ability)
		}
	}
	return all
}
