// Syncs the objects on stdin as an Application of Argo CD does, once, by Argo CD's own gitops-engine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// The annotation by which Argo CD knows the objects of an Application.
const tracking = "argocd.argoproj.io/tracking-id"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "")
	application := flag.String("application", "", "its name")
	serverSide := flag.Bool("server-side", false, "ServerSideApply=true")
	validate := flag.Bool("validate", true, "Validate")
	migrate := flag.Bool("migrate", true, "ClientSideApplyMigration")
	prune := flag.Bool("prune", false, "automated.prune")
	flag.Parse()
	failed, err := run(*kubeconfig, *application,
		sync.WithServerSideApply(*serverSide), sync.WithServerSideApplyManager("argocd-controller"),
		sync.WithManifestValidation(*validate), sync.WithPrune(*prune),
		sync.WithClientSideApplyMigration(*migrate, common.DefaultClientSideApplyMigrationManager))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// run prints what became of each object, and says whether one failed.
func run(kubeconfig, application string, options ...sync.SyncOpt) (bool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return false, err
	}
	config.QPS, config.Burst = 100, 200
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return false, err
	}
	objects, err := kube.SplitYAML(text)
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		kind := object.GroupVersionKind()
		annotations[tracking] = fmt.Sprintf("%s:%s/%s:%s/%s", application, kind.Group, kind.Kind, object.GetNamespace(), object.GetName())
		object.SetAnnotations(annotations)
	}
	live := cache.NewClusterCache(config, cache.SetPopulateResourceInfoHandler(
		func(object *unstructured.Unstructured, _ bool) (any, bool) {
			owner, _, isTracked := strings.Cut(object.GetAnnotations()[tracking], ":")
			return owner, isTracked && owner == application
		}))
	syncer := engine.NewEngine(config, live, engine.WithLogr(logr.Discard()))
	stop, err := syncer.Run()
	if err != nil {
		return false, err
	}
	defer stop()
	isOurs := func(resource *cache.Resource) bool {
		return resource.Info == application
	}
	options = append(options, sync.WithLogr(logr.Discard()))
	results, err := syncer.Sync(context.Background(), objects, isOurs, "revision", "default", options...)
	failed := false
	for _, result := range results {
		fmt.Println(result.ResourceKey.String(), result.Status, result.Message)
		failed = failed || result.Status == common.ResultCodeSyncFailed
	}
	return failed, err
}
